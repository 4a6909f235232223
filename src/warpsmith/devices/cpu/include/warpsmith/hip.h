// What HIP has beyond CUDA: coordinates as macros, vector arithmetic, 64-bit votes, more atomics.
//
// AMD's warps have 64 or 32 lanes; here they have 32, and `warpSize` says so.
#pragma once

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

// Component by component, vector with vector or with a number.
#define WARPSMITH_VECTOR_OPERATOR(V, T, symbol, each)                                                    \
  WARPSMITH_FN V operator symbol(V a, V b) { return each(symbol, a., b.); }                              \
  WARPSMITH_FN V operator symbol(V a, T s) { const V b = V##_of(s); return each(symbol, a., b.); }       \
  WARPSMITH_FN V operator symbol(T s, V b) { const V a = V##_of(s); return each(symbol, a., b.); }       \
  WARPSMITH_FN V& operator symbol##=(V& a, V b) { return a = a symbol b; }                               \
  WARPSMITH_FN V& operator symbol##=(V& a, T s) { return a = a symbol s; }
#define WARPSMITH_EACH_2(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y)}
#define WARPSMITH_EACH_3(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y), (a z) symbol (b z)}
#define WARPSMITH_EACH_4(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y), (a z) symbol (b z), (a w) symbol (b w)}
#define WARPSMITH_VECTOR_OPERATORS(V, T, each)                                                           \
  WARPSMITH_VECTOR_OPERATOR(V, T, +, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, -, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, *, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, /, each)                                                               \
  WARPSMITH_FN V operator-(V a) { return V##_of((T)0) - a; }
#define WARPSMITH_VECTOR_FAMILY(name, T)                                                                 \
  WARPSMITH_FN name##2 name##2_of(T s) { return {s, s}; }                                                \
  WARPSMITH_FN name##3 name##3_of(T s) { return {s, s, s}; }                                             \
  WARPSMITH_FN name##4 name##4_of(T s) { return {s, s, s, s}; }                                          \
  WARPSMITH_VECTOR_OPERATORS(name##2, T, WARPSMITH_EACH_2)                                               \
  WARPSMITH_VECTOR_OPERATORS(name##3, T, WARPSMITH_EACH_3)                                               \
  WARPSMITH_VECTOR_OPERATORS(name##4, T, WARPSMITH_EACH_4)
WARPSMITH_VECTOR_FAMILY(float, float)
WARPSMITH_VECTOR_FAMILY(double, double)
WARPSMITH_VECTOR_FAMILY(int, int)
WARPSMITH_VECTOR_FAMILY(uint, unsigned int)
#undef WARPSMITH_VECTOR_FAMILY
#undef WARPSMITH_VECTOR_OPERATORS
#undef WARPSMITH_VECTOR_OPERATOR
#undef WARPSMITH_EACH_2
#undef WARPSMITH_EACH_3
#undef WARPSMITH_EACH_4

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
