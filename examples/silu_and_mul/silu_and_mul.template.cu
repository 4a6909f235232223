// silu_and_mul with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those
// of silu_and_mul.cu.
#ifndef BLOCK        // most threads in a block
#define BLOCK 1024
#endif
#ifndef VEC_BYTES    // bytes per access
#define VEC_BYTES 16
#endif
#ifndef UNROLL       // accesses in flight per thread
#define UNROLL 1
#endif
#ifndef SPLIT_ROW    // 0: a block walks its row · 1: a block does one tile of a row, and the grid covers the row
#define SPLIT_ROW 0
#endif
#ifndef EXP          // 0: expf · 1: the hardware's approximate exponential · 2: a polynomial on the multiply-add units
#define EXP 0
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];

  __device__ __forceinline__ void load(const T* from) { *this = *reinterpret_cast<const Pack*>(from); }
  __device__ __forceinline__ void store(T* to) const { *reinterpret_cast<Pack*>(to) = *this; }
};

#if EXP == 0
__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
#elif EXP == 1
__device__ __forceinline__ float silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
#else
// 2^t for t = -x / ln 2: adding 1.5 * 2^23 leaves the nearest integer in the low bits, from where it is shifted into the exponent
// of a polynomial in the fraction, fitted for the least relative error (3e-6). Beyond the clamp silu is x or 0. Comparisons clamp
// in one instruction everywhere, where fminf may need more to return the number of a number and a NaN.
__device__ __forceinline__ float silu(float x) {
  float t = x * -1.44269504f;
  t = -126.0f > t ? -126.0f : t;
  t = 126.0f < t ? 126.0f : t;
  const float shifted = t + 12582912.0f;
  const float f = t - (shifted - 12582912.0f);
  float power = fmaf(f, 9.58285294e-3f, 5.59064262e-2f);
  power = fmaf(f, power, 2.40240991e-1f);
  power = fmaf(f, power, 6.93124175e-1f);
  power = fmaf(f, power, 1.0f);
  return x / (1.0f + __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23)));
}
#endif

template <typename T>
__global__ void silu_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, int d) {
  constexpr int kLanes = VEC_BYTES / sizeof(T);
#if SPLIT_ROW
  const int packs = d / kLanes;
  const int width = blockDim.x;  // never more than packs
  const int tiles = (packs + width * UNROLL - 1) / (width * UNROLL);
  const int64_t token = blockIdx.x / tiles;
  const int begin = static_cast<int>(blockIdx.x % tiles) * width * UNROLL;
#else
  const int64_t token = blockIdx.x;
#endif
  const T* gate = input + token * 2 * d;
  const T* up = gate + d;
  T* row = out + token * d;

#if SPLIT_ROW
#pragma unroll
  for (int step = 0; step < UNROLL; ++step) {
    // What would go beyond the row moves back to end with it. Some packs are then computed twice, to the same values; in return no
    // thread ever needs a bounds check.
    const int64_t first = min(begin + step * width, packs - width) * kLanes;
    const int i = threadIdx.x;
    Pack<T, kLanes> g, u, result;
    g.load(gate + first + i * kLanes);
    u.load(up + first + i * kLanes);
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      result.lane[lane] = static_cast<T>(silu(static_cast<float>(g.lane[lane])) * static_cast<float>(u.lane[lane]));
    }
    result.store(row + first + i * kLanes);
  }
#else
#if UNROLL == 1
#pragma unroll 1
#else
  constexpr int kUnroll = UNROLL;  // nvcc expands no macro in a pragma
#pragma unroll kUnroll
#endif
  for (int i = threadIdx.x; i < d / kLanes; i += blockDim.x) {
    Pack<T, kLanes> g, u, result;
    g.load(gate + i * kLanes);
    u.load(up + i * kLanes);
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      result.lane[lane] = static_cast<T>(silu(static_cast<float>(g.lane[lane])) * static_cast<float>(u.lane[lane]));
    }
    result.store(row + i * kLanes);
  }

#pragma unroll 1
  for (int i = d - d % kLanes + threadIdx.x; i < d; i += blockDim.x) {
    row[i] = static_cast<T>(silu(static_cast<float>(gate[i])) * static_cast<float>(up[i]));
  }
#endif
}
