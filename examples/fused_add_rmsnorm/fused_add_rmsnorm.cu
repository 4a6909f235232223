// A transformer layer's residual step, in place: residual += input, then input = residual / rms(residual) * weight.
//
// One block of whole warps per token; every thread moves 16 bytes at a time, so d * sizeof(T) % 16 == 0. The sum stays in dynamic
// shared memory (d floats) between the two passes: global memory is read once and written once. The sum of squares is reduced by
// shuffles inside each warp, then over the warps by the first one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

__device__ __forceinline__ float block_sum(float value) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
    if (lane == 0) partial[0] = value;
  }
  __syncthreads();
  return partial[0];
}

template <typename T>
__global__ void fused_add_rmsnorm_kernel(T* __restrict__ input, T* __restrict__ residual, const T* __restrict__ weight, int d,
                                         float epsilon) {
  constexpr int kLanes = 16 / sizeof(T);
  using Packed = Pack<T, kLanes>;
  extern __shared__ float staged[];

  const int64_t token = blockIdx.x;
  Packed* in = reinterpret_cast<Packed*>(input + token * d);
  Packed* res = reinterpret_cast<Packed*>(residual + token * d);
  const Packed* scale = reinterpret_cast<const Packed*>(weight);
  const int packs = d / kLanes;

  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed a = in[i];
    Packed b = res[i];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = static_cast<float>(a.lane[lane]) + static_cast<float>(b.lane[lane]);
      squares += x * x;
      b.lane[lane] = static_cast<T>(x);
      staged[i * kLanes + lane] = x;
    }
    res[i] = b;
  }

  const float inverse_rms = rsqrtf(block_sum(squares) / d + epsilon);

  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed w = scale[i];
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = staged[i * kLanes + lane];
      y.lane[lane] = static_cast<T>(x * inverse_rms * static_cast<float>(w.lane[lane]));
    }
    in[i] = y;
  }
}
