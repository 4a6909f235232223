// softmax with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// softmax.cu.
#ifndef BLOCK        // most threads in a block
#define BLOCK 1024
#endif
#ifndef VEC_BYTES    // bytes per access
#define VEC_BYTES 16
#endif
#ifndef SWEEPS       // 2: running maximum and sum, then the output · 3: maximum, then exponentials into out, then their scale
#define SWEEPS 2
#endif
#ifndef REDUCE       // 0: shuffles in each warp, then over the warps · 1: a tree in shared memory, no warp operations
#define REDUCE 0     // 2: each thread adds up what all threads left in shared memory: for small blocks
#endif
#ifndef ITEMS        // 0: bounds checked at every step · else packs per thread and step, unchecked while the whole block has them
#define ITEMS 0
#endif
#ifndef EXP          // 0: expf · 1: the hardware's approximate exponential · 2: a polynomial on the multiply-add units
#define EXP 0
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

struct Max {
  static constexpr float kIdentity = -INFINITY;
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  static constexpr float kIdentity = 0.0f;
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

#if REDUCE == 0
template <typename Op>
__device__ __forceinline__ float warp_reduce(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = Op()(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}
#endif

// Each operation has its own array, so one reduction may follow the other without a barrier between them.
template <typename Op>
__device__ __forceinline__ float block_reduce(float value) {
#if REDUCE == 1
  __shared__ float partial[BLOCK];
  partial[threadIdx.x] = value;
  __syncthreads();
#pragma unroll
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    // On a short row the block has fewer threads than BLOCK: the upper levels then have nothing to join.
    if (threadIdx.x < half && threadIdx.x + half < blockDim.x) {
      partial[threadIdx.x] = Op()(partial[threadIdx.x], partial[threadIdx.x + half]);
    }
    __syncthreads();
  }
  return partial[0];
#elif REDUCE == 2
  __shared__ float partial[BLOCK];
  partial[threadIdx.x] = value;
  __syncthreads();
  value = partial[0];
  for (int i = 1; i < blockDim.x; ++i) value = Op()(value, partial[i]);
  return value;
#elif BLOCK == 32
  return warp_reduce<Op>(value);  // the block is one warp: there is no second stage
#else
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_reduce<Op>(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = warp_reduce<Op>(lane < blockDim.x / 32 ? partial[lane] : Op::kIdentity);
    if (lane == 0) partial[0] = value;
  }
  __syncthreads();
  return partial[0];
#endif
}

// One instruction everywhere, where fmaxf may need more to return the number of a number and a NaN.
#if ITEMS > 1 || SWEEPS == 3 || EXP == 2
__device__ __forceinline__ float higher_of(float a, float b) { return b > a ? b : a; }
#endif

#if EXP == 1
#define expf __expf
#elif EXP == 2
// 2^t for t = x / ln 2: adding 1.5 * 2^23 leaves the nearest integer in the low bits, from where it is shifted into the exponent
// of a degree-5 Taylor polynomial in the fraction. For x <= 0 only, as everywhere in a softmax; below the clamp the result is as
// good as 0.
__device__ __forceinline__ float negative_exp(float x) {
  const float t = higher_of(x * 1.44269504f, -126.0f);
  const float shifted = t + 12582912.0f;
  const float f = t - (shifted - 12582912.0f);
  float power = fmaf(f, 1.33335581e-3f, 9.61812911e-3f);
  power = fmaf(f, power, 5.55041087e-2f);
  power = fmaf(f, power, 2.40226507e-1f);
  power = fmaf(f, power, 6.93147181e-1f);
  power = fmaf(f, power, 1.0f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}
#define expf negative_exp
#endif

#if ITEMS > 0
// Calls body(i) for this thread's share of 0 … count - 1. The number of unchecked steps is the same for all threads.
template <typename Body>
__device__ __forceinline__ void for_each(int count, const Body& body) {
  const int width = blockDim.x;
  const int whole = count - count % (width * ITEMS);
  for (int first = 0; first < whole; first += width * ITEMS) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) body(first + item * width + static_cast<int>(threadIdx.x));
  }
  for (int i = whole + threadIdx.x; i < count; i += width) body(i);
}
#define FOR_EACH(i, count) for_each(count, [&](int i) {
#define END_EACH });
#else
#define FOR_EACH(i, count) for (int i = threadIdx.x; i < count; i += blockDim.x) {
#define END_EACH }
#endif

template <typename T>
__global__ void softmax_kernel(T* __restrict__ out, const T* __restrict__ input, int cols) {
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int64_t row = blockIdx.x;
  const Packed* from = reinterpret_cast<const Packed*>(input + row * cols);
  Packed* to = reinterpret_cast<Packed*>(out + row * cols);
  const int packs = cols / kLanes;

  float top = -INFINITY;
  float mass = 0.0f;
#if SWEEPS == 2
#if ITEMS > 1
  // One new maximum, and one correction of the sum, for all the packs of a step.
  const int width = blockDim.x;
  const int whole = packs - packs % (width * ITEMS);
  for (int first = 0; first < whole; first += width * ITEMS) {
    Packed x[ITEMS];
    float higher = top;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      x[item] = from[first + item * width + static_cast<int>(threadIdx.x)];
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) higher = higher_of(higher, static_cast<float>(x[item].lane[lane]));
    }
    float more = 0.0f;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) more += expf(static_cast<float>(x[item].lane[lane]) - higher);
    }
    mass = mass * expf(top - higher) + more;
    top = higher;
  }
  for (int i = whole + threadIdx.x; i < packs; i += width) {
#else
  FOR_EACH(i, packs)
#endif
    const Packed x = from[i];
    float higher = top;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) higher = fmaxf(higher, static_cast<float>(x.lane[lane]));
    mass *= expf(top - higher);
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) mass += expf(static_cast<float>(x.lane[lane]) - higher);
    top = higher;
#if ITEMS > 1
  }
#else
  END_EACH
#endif

  const float row_top = block_reduce<Max>(top);
  const float inverse = 1.0f / block_reduce<Sum>(mass * expf(top - row_top));

  FOR_EACH(i, packs)
    const Packed x = from[i];
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      y.lane[lane] = static_cast<T>(expf(static_cast<float>(x.lane[lane]) - row_top) * inverse);
    }
    to[i] = y;
  END_EACH
#else
  FOR_EACH(i, packs)
    const Packed x = from[i];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) top = higher_of(top, static_cast<float>(x.lane[lane]));
  END_EACH

  const float row_top = block_reduce<Max>(top);

  FOR_EACH(i, packs)
    const Packed x = from[i];
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float e = expf(static_cast<float>(x.lane[lane]) - row_top);
      mass += e;
      y.lane[lane] = static_cast<T>(e);
    }
    to[i] = y;
  END_EACH

  const float inverse = 1.0f / block_reduce<Sum>(mass);

  FOR_EACH(i, packs)
    Packed y = to[i];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) y.lane[lane] = static_cast<T>(static_cast<float>(y.lane[lane]) * inverse);
    to[i] = y;
  END_EACH
#endif
}
