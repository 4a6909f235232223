// HIP's spelling of what CUDA has, for HIP kernels on NVIDIA GPUs. Warps have 32 lanes.
#pragma once
#define __HIP_PLATFORM_NVIDIA__ 1
#define __HIPCC__ 1
#define __HIP_DEVICE_COMPILE__ 1

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// Without a mask: all lanes that are there take part. As macros, for CUDA still declares functions of these names that no longer compile.
template <class T>
__device__ inline T __warpsmith_shfl(T value, int lane, int width = 32) { return __shfl_sync(__activemask(), value, lane, width); }
template <class T>
__device__ inline T __warpsmith_shfl_up(T value, unsigned int delta, int width = 32) {
  return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
__device__ inline T __warpsmith_shfl_down(T value, unsigned int delta, int width = 32) {
  return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T>
__device__ inline T __warpsmith_shfl_xor(T value, int mask, int width = 32) { return __shfl_xor_sync(__activemask(), value, mask, width); }
#define __shfl(...) __warpsmith_shfl(__VA_ARGS__)
#define __shfl_up(...) __warpsmith_shfl_up(__VA_ARGS__)
#define __shfl_down(...) __warpsmith_shfl_down(__VA_ARGS__)
#define __shfl_xor(...) __warpsmith_shfl_xor(__VA_ARGS__)
#define __ballot(predicate) static_cast<unsigned long long>(__ballot_sync(__activemask(), predicate))
#define __any(predicate) __any_sync(__activemask(), predicate)
#define __all(predicate) __all_sync(__activemask(), predicate)
__device__ inline unsigned int __lane_id() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
template <class T>
__device__ inline T unsafeAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
