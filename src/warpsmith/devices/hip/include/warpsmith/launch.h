// Where a thread is, the block's barriers, and dynamic shared memory, on AMD GPUs.
#pragma once

#define WARPSMITH_COORDINATES(type, X, Y, Z)                                       \
  struct type {                                                                    \
    __declspec(property(get = get_x)) unsigned int x;                              \
    __declspec(property(get = get_y)) unsigned int y;                              \
    __declspec(property(get = get_z)) unsigned int z;                              \
    static WARPSMITH_METHOD unsigned int get_x() { return (unsigned int)(X); }     \
    static WARPSMITH_METHOD unsigned int get_y() { return (unsigned int)(Y); }     \
    static WARPSMITH_METHOD unsigned int get_z() { return (unsigned int)(Z); }     \
    WARPSMITH_METHOD operator uint3() const { return {get_x(), get_y(), get_z()}; } \
    WARPSMITH_METHOD operator dim3() const { return {get_x(), get_y(), get_z()}; }  \
  };
namespace __warpsmith {
WARPSMITH_COORDINATES(thread_index, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
WARPSMITH_COORDINATES(block_index, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
WARPSMITH_COORDINATES(block_size, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                      __builtin_amdgcn_workgroup_size_z())
// Grids are whole blocks, so the number of blocks is the first thing the implicit arguments hold.
#define WARPSMITH_BLOCKS(axis) ((const __attribute__((address_space(4))) unsigned int*)__builtin_amdgcn_implicitarg_ptr())[axis]
WARPSMITH_COORDINATES(grid_size, WARPSMITH_BLOCKS(0), WARPSMITH_BLOCKS(1), WARPSMITH_BLOCKS(2))
#undef WARPSMITH_BLOCKS
}  // namespace __warpsmith
#undef WARPSMITH_COORDINATES

static constexpr __warpsmith::thread_index threadIdx{};
static constexpr __warpsmith::block_index blockIdx{};
static constexpr __warpsmith::block_size blockDim{};
static constexpr __warpsmith::grid_size gridDim{};
// CUDA code counts on 32 lanes: there a wave of 64 is two warps side by side.
#ifdef WARPSMITH_HIP
static constexpr int warpSize = WARPSMITH_WAVE;
#else
static constexpr int warpSize = 32;
#endif

WARPSMITH_FN void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
WARPSMITH_FN void __spirv_ControlBarrier(int scope, int, int) {
  if (scope == __warpsmith::scope_warp) {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
  } else {
    __syncthreads();
  }
}

namespace __warpsmith {
WARPSMITH_DEVICE_FN int block_count(bool predicate) {
  static __shared__ int total;
  total = 0;
  __syncthreads();
  if (predicate) __scoped_atomic_fetch_add(&total, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  __syncthreads();
  const int result = total;
  __syncthreads();
  return result;
}
}  // namespace __warpsmith
WARPSMITH_DEVICE_FN int __syncthreads_count(int predicate) { return __warpsmith::block_count(predicate != 0); }
WARPSMITH_DEVICE_FN int __syncthreads_or(int predicate) { return __warpsmith::block_count(predicate != 0) != 0; }
WARPSMITH_DEVICE_FN int __syncthreads_and(int predicate) { return __warpsmith::block_count(predicate == 0) == 0; }

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
