// fused_add_rmsnorm with its execution choices made explicit. With every parameter at its default the preprocessed tokens are
// those of fused_add_rmsnorm.cu.
#ifndef BLOCK        // most threads in a block
#define BLOCK 1024
#endif
#ifndef VEC_BYTES    // bytes per access
#define VEC_BYTES 16
#endif
#ifndef STAGE        // where the sum waits between the passes. 0: shared memory · 1: read back from residual · 2: registers
#define STAGE 0
#endif
#ifndef REDUCE       // 0: shuffles in each warp, then over the warps
#define REDUCE 0     // 1: each thread adds up what all threads left in shared memory: for small blocks
#endif
#ifndef ITEMS        // 0: bounds checked at every step · else packs per thread and step, unchecked while the whole block has them
#define ITEMS 0
#endif
#ifndef ROWS         // tokens a block takes one after the other: one is normalised while the next is added
#define ROWS 1
#endif
#ifndef KEEP         // packs per thread that fit in registers when STAGE is 2
#define KEEP 8
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

#if REDUCE == 0
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}
#endif

__device__ __forceinline__ float block_sum(float value) {
#if REDUCE == 1
  __shared__ float partial[BLOCK];
  partial[threadIdx.x] = value;
  __syncthreads();
  value = 0.0f;
  for (int i = 0; i < blockDim.x; ++i) value += partial[i];
  return value;
#elif BLOCK == 32
  return warp_sum(value);  // the block is one warp: there is no second stage
#else
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
    if (lane == 0) partial[0] = value;
  }
  __syncthreads();
  return partial[0];
#endif
}

#if ITEMS > 0
// Calls body(i) for this thread's share of 0 … count - 1, where i is short of the thread's own index: it is then the same for all
// threads, and so is the number of unchecked steps. A block has at least a warp of threads unless BLOCK is smaller, so up to there
// its size is known to the compiler.
template <typename Body>
__device__ __forceinline__ void for_each(int count, const Body& body) {
  const int width = BLOCK <= 32 ? BLOCK : blockDim.x;
  const int whole = count - count % (width * ITEMS);
  for (int first = 0; first < whole; first += width * ITEMS) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) body(first + item * width);
  }
  for (int i = whole; i + static_cast<int>(threadIdx.x) < count; i += width) body(i);
}
#endif

template <typename T>
__global__ void fused_add_rmsnorm_kernel(T* __restrict__ input, T* __restrict__ residual, const T* __restrict__ weight, int d,
                                         float epsilon) {
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;
#if STAGE == 0
  extern __shared__ float staged[];
#elif STAGE == 2
  float kept[KEEP * kLanes];
#endif

#if ROWS > 1
  if (blockIdx.y > 0) return;  // the grid has gridDim.y - 1 rows of blocks too many, as many as the last block has tokens too few
  const int64_t token = static_cast<int64_t>(blockIdx.x) * ROWS;
#else
  const int64_t token = blockIdx.x;
#endif
  Packed* in = reinterpret_cast<Packed*>(input + token * d);
  Packed* res = reinterpret_cast<Packed*>(residual + token * d);
  const Packed* scale = reinterpret_cast<const Packed*>(weight);
  const int packs = d / kLanes;
#if ITEMS > 0
  in += threadIdx.x;
  res += threadIdx.x;
  scale += threadIdx.x;
#endif

#if ITEMS > 0 || STAGE == 2
  // The bodies of the two passes over a row, once each; the loops around them follow below.
  const auto add = [&](const Packed* from, Packed* to, int i, int step) {
    const Packed a = from[i];
    Packed b = to[i];
    float sum = 0.0f;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = static_cast<float>(a.lane[lane]) + static_cast<float>(b.lane[lane]);
      sum += x * x;
      b.lane[lane] = static_cast<T>(x);
#if STAGE == 0
      (staged + threadIdx.x * kLanes)[i * kLanes + lane] = x;
#elif STAGE == 2
      kept[step * kLanes + lane] = x;
#endif
    }
    to[i] = b;
    return sum;
  };
  const auto normalize = [&](const Packed* from, Packed* to, int i, int step, float inverse_rms) {
    const Packed w = scale[i];
#if STAGE == 1
    const Packed b = from[i];
#endif
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
#if STAGE == 0
      const float x = (staged + threadIdx.x * kLanes)[i * kLanes + lane];
#elif STAGE == 1
      const float x = static_cast<float>(b.lane[lane]);
#else
      const float x = kept[step * kLanes + lane];
#endif
      y.lane[lane] = static_cast<T>(x * inverse_rms * static_cast<float>(w.lane[lane]));
    }
    to[i] = y;
  };
#endif

  float squares = 0.0f;
#if STAGE == 2
#pragma unroll
  for (int step = 0; step < KEEP; ++step) {
    const int i = step * blockDim.x + threadIdx.x;
    if (i < packs) squares += add(in, res, i, step);
  }
#elif ITEMS > 0
  for_each(packs, [&](int i) { squares += add(in, res, i, 0); });
#else
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed a = in[i];
    Packed b = res[i];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float x = static_cast<float>(a.lane[lane]) + static_cast<float>(b.lane[lane]);
      squares += x * x;
      b.lane[lane] = static_cast<T>(x);
#if STAGE == 0
      staged[i * kLanes + lane] = x;
#endif
    }
    res[i] = b;
  }
#endif

#if ROWS > 1
  const int rows = blockIdx.x + 1 < gridDim.x ? ROWS : ROWS + 1 - static_cast<int>(gridDim.y);
  for (int r = 1; r < rows; ++r, in += packs, res += packs) {
    const float inverse_rms = rsqrtf(block_sum(squares) / d + epsilon);
    squares = 0.0f;
    for_each(packs, [&](int i) {
      squares += add(in + packs, res + packs, i, 0);
      normalize(res, in, i, 0, inverse_rms);
    });
    __syncthreads();  // before the shared sums are written again
  }
#endif
  const float inverse_rms = rsqrtf(block_sum(squares) / d + epsilon);

#if STAGE == 2
#pragma unroll
  for (int step = 0; step < KEEP; ++step) {
    const int i = step * blockDim.x + threadIdx.x;
    if (i < packs) normalize(res, in, i, step, inverse_rms);
  }
#elif ITEMS > 0
  for_each(packs, [&](int i) { normalize(res, in, i, 0, inverse_rms); });
#else
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed w = scale[i];
#if STAGE == 1
    const Packed b = res[i];
#endif
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
#if STAGE == 0
      const float x = staged[i * kLanes + lane];
#else
      const float x = static_cast<float>(b.lane[lane]);
#endif
      y.lane[lane] = static_cast<T>(x * inverse_rms * static_cast<float>(w.lane[lane]));
    }
    in[i] = y;
  }
#endif
}
