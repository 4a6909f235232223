// The language itself: execution and memory qualifiers, version macros, and the few macros the prelude is written with.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Everything here is `static`: a function of ours whose mangled name equals an OpenCL builtin's would call itself for ever.
// Host and device, so that `__host__ __device__` functions and initialisers of host constants may call it.
#define WARPSMITH_FN static inline __attribute__((host, device, always_inline))
#define WARPSMITH_METHOD inline __attribute__((host, device, always_inline))
// What an entry of ours reads or writes beside its arguments and results (traps, clocks).
#define WARPSMITH_DEVICE_FN static inline __attribute__((device, always_inline))
#define WARPSMITH_EXTERN extern __attribute__((host, device))

// A kernel is a plain function here; the device's generated entry, which has the kernel attribute, calls it.
#define __global__ __attribute__((device))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
// Constant symbols are filled by a helper kernel before the launch, so they live in (read-write) global memory.
#define __constant__ __attribute__((device))
#define __managed__ __attribute__((device))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __cudart_builtin__
#define __nv_pure__
#define __no_sanitize__(...)
#define CUDARTAPI
#define CUDART_CB
// A storage class that C++17 forbids and kernels written for older compilers use.
#define register
// The target has no such type; this one has its size, its arithmetic and its conversions, and may be `unsigned` too.
#define __int128 _BitInt(128)
typedef __int128 __int128_t;
typedef unsigned __int128 __uint128_t;

#ifdef WARPSMITH_HIP
#undef __CUDA_ARCH__
#undef __CUDACC__
#undef __CUDA__
#ifndef __HIP__
#define __HIP__ 1
#endif
#ifndef __HIPCC__
#define __HIPCC__ 1
#endif
#ifndef __HIP_DEVICE_COMPILE__
#define __HIP_DEVICE_COMPILE__ 1
#endif
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#define __HIP_ARCH_HAS_WARP_BALLOT__ 1
#define __HIP_ARCH_HAS_WARP_VOTE__ 1
#define __HIP_ARCH_HAS_DOUBLES__ 1
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 2
#define HIP_VERSION 60200000
#define __AMDGCN_WAVEFRONT_SIZE 32
#define __AMDGCN_WAVEFRONT_SIZE__ 32
#else
// clang predefines 1 for this target; code that asks means a GPU. 8.0 has everything here and nothing that is refused alone.
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __NVCC__
#define __NVCC__ 1
#endif
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define CUDA_VERSION 12080
#define CUDART_VERSION 12080
#endif

namespace __warpsmith {
// The standard's traits cost 30 ms to parse; these few are the compiler's own.
template <class T> inline constexpr bool is_integer = __is_integral(T);
template <class T> inline constexpr bool is_arithmetic = __is_arithmetic(T);

template <class T, class U> inline constexpr bool is_same = __is_same(T, U);

// The unsigned integer that carries a value of `size` bytes.
template <int size> struct bits_of;
template <> struct bits_of<1> { using type = unsigned char; };
template <> struct bits_of<2> { using type = unsigned short; };
template <> struct bits_of<4> { using type = unsigned int; };
template <> struct bits_of<8> { using type = unsigned long long; };
template <class T> using bits = typename bits_of<sizeof(T)>::type;

template <class To, class From> WARPSMITH_FN To bit_cast(const From& value) { return __builtin_bit_cast(To, value); }
}  // namespace __warpsmith
