// What HIP has beyond CUDA: coordinates as macros, vector arithmetic, 64-bit votes, more atomics.
//
// AMD's warps have 64 or 32 lanes; here they have 32, and `warpSize` says so.
#pragma once

#include "warpsmith/vector_operators.h"

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

WARPSMITH_FN long long wall_clock64() { return clock64(); }
WARPSMITH_FN unsigned int __lane_id() { return __warpsmith::lane_id(); }

#define WARPSMITH_ATOMIC_EXTREME(F)                                                                                   \
  WARPSMITH_FN F atomicMin(F* address, F value) {                                                                     \
    return __warpsmith::atomic_update(address, [=](F old) { return fmin(old, value); });                              \
  }                                                                                                                   \
  WARPSMITH_FN F atomicMax(F* address, F value) {                                                                     \
    return __warpsmith::atomic_update(address, [=](F old) { return fmax(old, value); });                              \
  }
WARPSMITH_ATOMIC_EXTREME(float)
WARPSMITH_ATOMIC_EXTREME(double)
#undef WARPSMITH_ATOMIC_EXTREME
template <class T> WARPSMITH_FN T unsafeAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
template <class T> WARPSMITH_FN T safeAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
template <class T> WARPSMITH_FN void atomicAddNoRet(T* address, T value) { atomicAdd(address, value); }

// HIP's min and max take any two arithmetic types.
template <class A, class B> requires(__warpsmith::is_arithmetic<A> && __warpsmith::is_arithmetic<B> && !__is_same(A, B))
WARPSMITH_FN auto min(A x, B y) { return x < y ? x : y; }
template <class A, class B> requires(__warpsmith::is_arithmetic<A> && __warpsmith::is_arithmetic<B> && !__is_same(A, B))
WARPSMITH_FN auto max(A x, B y) { return x > y ? x : y; }
