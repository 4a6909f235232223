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
};

#if EXP == 0
__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
#elif EXP == 1
__device__ __forceinline__ float silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
#else
// 2^t for t = -x / ln 2: adding 1.5 * 2^23 leaves the nearest integer in the low bits, from where it is shifted into the exponent
// of a degree-5 Taylor polynomial in the fraction. Relative error below 3e-6 within the clamp, beyond which silu is x or 0.
__device__ __forceinline__ float silu(float x) {
  const float t = fminf(fmaxf(x * -1.44269504f, -126.0f), 126.0f);
  const float shifted = t + 12582912.0f;
  const float f = t - (shifted - 12582912.0f);
  float power = fmaf(f, 1.33335581e-3f, 9.61812911e-3f);
  power = fmaf(f, power, 5.55041087e-2f);
  power = fmaf(f, power, 2.40226507e-1f);
  power = fmaf(f, power, 6.93147181e-1f);
  power = fmaf(f, power, 1.0f);
  return x / (1.0f + __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23)));
}
#endif

template <typename T>
__global__ void silu_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, int d) {
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;

#if SPLIT_ROW
  constexpr int kTile = BLOCK * UNROLL;  // in packs, as all counts below
  const int packs = d / kLanes;
  const int tiles = (packs + kTile - 1) / kTile;
  const int64_t token = blockIdx.x / tiles;
#else
  const int64_t token = blockIdx.x;
#endif
  const Packed* gate = reinterpret_cast<const Packed*>(input + token * 2 * d);
  const Packed* up = reinterpret_cast<const Packed*>(input + token * 2 * d + d);
  Packed* row = reinterpret_cast<Packed*>(out + token * d);

#if SPLIT_ROW
  if (packs >= kTile) {
    // The last tile moves back so that it ends with the row. What two tiles share is computed twice, to the same values; in
    // return no thread ever needs a bounds check.
    const int begin = min(static_cast<int>(blockIdx.x % tiles) * kTile, packs - kTile);
    gate += begin;
    up += begin;
    row += begin;
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
      const int i = step * BLOCK + threadIdx.x;
      const Packed g = gate[i];
      const Packed u = up[i];
      Packed result;
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        const float x = static_cast<float>(g.lane[lane]);
        const float y = static_cast<float>(u.lane[lane]);
        result.lane[lane] = static_cast<T>(silu(x) * y);
      }
      row[i] = result;
    }
    return;
  }
#endif
#if UNROLL == 1
#pragma unroll 1
#else
#pragma unroll UNROLL
#endif
  for (int i = threadIdx.x; i < d / kLanes; i += blockDim.x) {
    const Packed g = gate[i];
    const Packed u = up[i];
    Packed result;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = static_cast<float>(g.lane[lane]);
      const float y = static_cast<float>(u.lane[lane]);
      result.lane[lane] = static_cast<T>(silu(x) * y);
    }
    row[i] = result;
  }
}
