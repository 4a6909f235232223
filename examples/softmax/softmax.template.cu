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
#ifndef REDUCE       // 0: shuffles in each warp, then over the warps
#define REDUCE 0     // 1: each thread adds up what all threads left in shared memory: for small blocks
#endif
#ifndef ITEMS        // 0: bounds checked at every step · else packs per thread and step, unchecked while the whole block has them
#define ITEMS 0
#endif
#ifndef ROWS         // rows a block takes one after the other when SWEEPS is 3: the sweeps of neighbouring rows are then joined
#define ROWS 1
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
#if ITEMS > 1 || SWEEPS == 3
__device__ __forceinline__ float higher_of(float a, float b) { return b > a ? b : a; }
#endif

#if SWEEPS == 2
#if EXP == 1
#define expf __expf
#endif
#elif EXP == 0
__device__ __forceinline__ float exp_relative(float x, float top) { return expf(x - top); }
#elif EXP == 1
__device__ __forceinline__ float exp_relative(float x, float top) { return __expf(x - top); }
#else
// exp(x) / 2^near for the integer next to top / ln 2: all of a row has the same divisor, so it cancels in the quotient. Adding
// 1.5 * 2^23 leaves the nearest integer to x / ln 2 - near in the low bits, from where it is shifted into the exponent of a
// polynomial in the fraction, fitted for the least relative error (3e-6). For x <= top only; far below it the result is as good
// as 0. What depends on top alone is computed once.
__device__ __forceinline__ float exp_relative(float x, float top) {
  constexpr float kPerLog2 = 1.44269504f;
  const float near = rintf(top * kPerLog2);
  const float shift = 12582912.0f - near;
  x = higher_of(x, (near - 126.0f) * 0.693147181f);
  const float shifted = fmaf(x, kPerLog2, shift);
  const float f = fmaf(x, kPerLog2, shift - shifted);
  const float upper = fmaf(f * f, 9.58285294e-3f, fmaf(f, 5.59064262e-2f, 2.40240991e-1f));
  const float power = fmaf(f * f, upper, fmaf(f, 6.93124175e-1f, 1.0f));  // in two halves: the chain of dependences is shorter
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}
#endif

#if ITEMS > 0
// A block has at least a warp of threads unless BLOCK is smaller, so up to there its size is known to the compiler.
__device__ __forceinline__ int block_width() { return BLOCK <= 32 ? BLOCK : blockDim.x; }

// Calls body(i) for this thread's share of 0 … count - 1, where i is short of the thread's own index: it is then the same for all
// threads, and so is the number of unchecked steps.
template <typename Body>
__device__ __forceinline__ void for_each(int count, const Body& body) {
  const int width = block_width();
  const int whole = count - count % (width * ITEMS);
  for (int first = 0; first < whole; first += width * ITEMS) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) body(first + item * width);
  }
  for (int i = whole; i + static_cast<int>(threadIdx.x) < count; i += width) body(i);
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

#if ROWS > 1
  if (blockIdx.y > 0) return;  // the grid has gridDim.y - 1 rows of blocks too many, as many as the last block has rows too few
  const int64_t row = static_cast<int64_t>(blockIdx.x) * ROWS;
#else
  const int64_t row = blockIdx.x;
#endif
  const Packed* from = reinterpret_cast<const Packed*>(input + row * cols);
  Packed* to = reinterpret_cast<Packed*>(out + row * cols);
  const int packs = cols / kLanes;
#if ITEMS > 0
  from += threadIdx.x;
  to += threadIdx.x;
#endif

  float top = -INFINITY;
  float mass = 0.0f;
#if SWEEPS == 2
#if ITEMS > 1
  // One new maximum, and one correction of the sum, for all the packs of a step.
  const int width = block_width();
  const int whole = packs - packs % (width * ITEMS);
  for (int first = 0; first < whole; first += width * ITEMS) {
    Packed x[ITEMS];
    float higher = top;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      x[item] = from[first + item * width];
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
  for (int i = whole; i + static_cast<int>(threadIdx.x) < packs; i += width) {
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

#if ROWS > 1
  // While a sweep takes the exponentials of one row, it finds the maximum of the next and scales the one before: memory is busy
  // while the arithmetic is.
  const int rows = blockIdx.x + 1 < gridDim.x ? ROWS : ROWS + 1 - static_cast<int>(gridDim.y);
  float inverse = 0.0f;
  for (int r = 0; r < rows; ++r, from += packs, to += packs) {
    const float row_top = block_reduce<Max>(top);
    const Packed* next = r + 1 < rows ? from + packs : from;
    Packed* last = to - packs;
    const auto exponentials = [&](int i) {
      const Packed ahead = next[i];
      const Packed x = from[i];
      Packed y;
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        top = higher_of(top, static_cast<float>(ahead.lane[lane]));
        const float e = exp_relative(static_cast<float>(x.lane[lane]), row_top);
        mass += e;
        y.lane[lane] = static_cast<T>(e);
      }
      to[i] = y;
    };
    top = -INFINITY;
    mass = 0.0f;
    if (r == 0) {
      for_each(packs, exponentials);
    } else {
      for_each(packs, [&](int i) {
        Packed y = last[i];
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) y.lane[lane] = static_cast<T>(static_cast<float>(y.lane[lane]) * inverse);
        last[i] = y;
        exponentials(i);
      });
    }
    inverse = 1.0f / block_reduce<Sum>(mass);
  }
  to -= packs;
#else
  const float row_top = block_reduce<Max>(top);

  FOR_EACH(i, packs)
    const Packed x = from[i];
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float e = exp_relative(static_cast<float>(x.lane[lane]), row_top);
      mass += e;
      y.lane[lane] = static_cast<T>(e);
    }
    to[i] = y;
  END_EACH

  const float inverse = 1.0f / block_reduce<Sum>(mass);
#endif

  FOR_EACH(i, packs)
    Packed y = to[i];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) y.lane[lane] = static_cast<T>(static_cast<float>(y.lane[lane]) * inverse);
    to[i] = y;
  END_EACH
#endif
}
