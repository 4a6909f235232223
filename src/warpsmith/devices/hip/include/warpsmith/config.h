// The language on AMD GPUs: execution and memory qualifiers, version macros, and the few macros the prelude is written with.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WARPSMITH_FN static inline __attribute__((host, device, always_inline))
#define WARPSMITH_METHOD inline __attribute__((host, device, always_inline))
#define WARPSMITH_DEVICE_FN static inline __attribute__((device, always_inline))
#define WARPSMITH_EXTERN extern __attribute__((host, device))

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
// The block's most threads; and, as HIP has it, the least waves that a SIMD should hold.
#define WARPSMITH_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define WARPSMITH_BOUNDS_2(threads, waves) WARPSMITH_BOUNDS_1(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define WARPSMITH_BOUNDS_3(threads, waves, cluster) WARPSMITH_BOUNDS_2(threads, waves)
#define WARPSMITH_BOUNDS(one, two, three, chosen, ...) chosen
#define __launch_bounds__(...) \
  WARPSMITH_BOUNDS(__VA_ARGS__, WARPSMITH_BOUNDS_3, WARPSMITH_BOUNDS_2, WARPSMITH_BOUNDS_1)(__VA_ARGS__)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define register

#ifdef WARPSMITH_HIP
#define __HIPCC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#define __HIP_ARCH_HAS_WARP_BALLOT__ 1
#define __HIP_ARCH_HAS_WARP_VOTE__ 1
#define __HIP_ARCH_HAS_DOUBLES__ 1
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 2
#define HIP_VERSION 60200000
#define __AMDGCN_WAVEFRONT_SIZE WARPSMITH_WAVE
#define __AMDGCN_WAVEFRONT_SIZE__ WARPSMITH_WAVE
#else
// CUDA code, spelled for NVIDIA's compiler: what it asks for must look like a GPU of theirs.
#define __CUDA_ARCH__ 800
#define __CUDACC__ 1
#define __NVCC__ 1
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
