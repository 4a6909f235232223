// Where a thread is: threadIdx, blockIdx, blockDim, gridDim, warpSize; the block's barriers; dynamic shared memory.
//
// threadIdx.x is a property, so that it is the plain builtin wherever it is written and the runtime's vectoriser sees the unit stride.
// With WARPSMITH_FLAT_X/Y/Z the block was launched as one dimension (sub-groups follow x only, warps follow the linear index), and
// the three coordinates are derived from it.
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
#ifdef WARPSMITH_FLAT_X
WARPSMITH_COORDINATES(thread_index, (unsigned int)__builtin_spirv_local_invocation_id(0) % WARPSMITH_FLAT_X,
                      (unsigned int)__builtin_spirv_local_invocation_id(0) / WARPSMITH_FLAT_X % WARPSMITH_FLAT_Y,
                      (unsigned int)__builtin_spirv_local_invocation_id(0) / (WARPSMITH_FLAT_X * WARPSMITH_FLAT_Y))
WARPSMITH_COORDINATES(block_size, WARPSMITH_FLAT_X, WARPSMITH_FLAT_Y, WARPSMITH_FLAT_Z)
#else
WARPSMITH_COORDINATES(thread_index, __builtin_spirv_local_invocation_id(0), __builtin_spirv_local_invocation_id(1),
                      __builtin_spirv_local_invocation_id(2))
WARPSMITH_COORDINATES(block_size, __builtin_spirv_workgroup_size(0), __builtin_spirv_workgroup_size(1), __builtin_spirv_workgroup_size(2))
#endif
WARPSMITH_COORDINATES(block_index, __builtin_spirv_workgroup_id(0), __builtin_spirv_workgroup_id(1), __builtin_spirv_workgroup_id(2))
WARPSMITH_COORDINATES(grid_size, __builtin_spirv_num_workgroups(0), __builtin_spirv_num_workgroups(1), __builtin_spirv_num_workgroups(2))
}  // namespace __warpsmith
#undef WARPSMITH_COORDINATES

static constexpr __warpsmith::thread_index threadIdx{};
static constexpr __warpsmith::block_index blockIdx{};
static constexpr __warpsmith::block_size blockDim{};
static constexpr __warpsmith::grid_size gridDim{};
static constexpr int warpSize = 32;

WARPSMITH_FN void __syncthreads() {
  __spirv_ControlBarrier(__warpsmith::scope_block, __warpsmith::scope_block, __warpsmith::fence_all);
}

namespace __warpsmith {
// One shared counter serves all three voting barriers. Three barriers: cleared before anybody adds, complete before anybody reads,
// and read by all before the next vote clears it.
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

// `extern __shared__` has no SPIR-V form; the size is known for each launch, and the declarations are rewritten to point here.
#if !defined(WARPSMITH_DYNAMIC_SHARED_BYTES) || WARPSMITH_DYNAMIC_SHARED_BYTES <= 0
#undef WARPSMITH_DYNAMIC_SHARED_BYTES
#define WARPSMITH_DYNAMIC_SHARED_BYTES 1
#endif
static __attribute__((shared, aligned(128))) unsigned char __warpsmith_dynamic_shared[WARPSMITH_DYNAMIC_SHARED_BYTES];
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
