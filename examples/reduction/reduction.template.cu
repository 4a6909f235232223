// reduction with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// reduction.cu.
#ifndef BLOCK         // threads in a block
#define BLOCK 256
#endif
#ifndef BLOCKS        // most blocks
#define BLOCKS 1024
#endif
#ifndef VEC           // floats per load
#define VEC 4
#endif
#ifndef SHARE         // 0: a block's loads are a grid apart · 1: a block's share is contiguous
#define SHARE 0
#endif
#ifndef ACCUMULATORS  // independent sums per thread
#define ACCUMULATORS 1
#endif
#ifndef REDUCE        // 0: shuffles in each warp, then over the warps · 1: a tree in shared memory, no warp operations
#define REDUCE 0      // 2: each thread adds up what all threads left in shared memory: for small blocks
#endif

#include <stdint.h>

constexpr int kMaxBlocks = 1024;

__device__ float partial_sums[kMaxBlocks];
__device__ unsigned int blocks_done;  // back at 0 after every launch

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
#pragma unroll
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  value = partial[0];
  __syncthreads();  // the array may be used again
  return value;
#elif REDUCE == 2
  __shared__ float partial[BLOCK];
  partial[threadIdx.x] = value;
  __syncthreads();
  value = 0.0f;
  for (int i = 0; i < BLOCK; ++i) value += partial[i];
  __syncthreads();  // the array may be used again
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
  value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
  __syncthreads();  // the array may be used again
  return value;
#endif
}

#if VEC != 4 || SHARE == 1 || ACCUMULATORS > 1
struct alignas(4 * VEC) Pack {
  float lane[VEC];
};

__device__ __forceinline__ float pack_sum(const Pack& pack) {
#if VEC == 1
  return pack.lane[0];
#elif VEC == 2
  return pack.lane[0] + pack.lane[1];
#else
  return (pack.lane[0] + pack.lane[1]) + (pack.lane[2] + pack.lane[3]);
#endif
}
#endif

__global__ void reduction_kernel(float* __restrict__ out, const float* __restrict__ input, int n) {
#if VEC != 4 || SHARE == 1 || ACCUMULATORS > 1
  // Whole steps of all threads first (the number of steps is the same for every thread: no bounds checks), then the rest.
  constexpr int kStep = BLOCK * ACCUMULATORS;
  const Pack* packs = reinterpret_cast<const Pack*>(input);
  const int steps = n / VEC / kStep / gridDim.x;
#if SHARE == 1
  const int64_t stride = kStep;
  packs += blockIdx.x * static_cast<int64_t>(steps) * kStep;
#else
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kStep;
  packs += blockIdx.x * kStep;
#endif
  float sums[ACCUMULATORS] = {};
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int a = 0; a < ACCUMULATORS; ++a) sums[a] += pack_sum(packs[a * BLOCK + threadIdx.x]);
    packs += stride;
  }
  float sum = 0.0f;
#pragma unroll
  for (int a = 0; a < ACCUMULATORS; ++a) sum += sums[a];
  const int done = steps * static_cast<int>(gridDim.x) * kStep * VEC;
  for (int i = done + blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) sum += input[i];
#else
  const float4* packs = reinterpret_cast<const float4*>(input);
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;

  float sum = 0.0f;
  for (int i = thread; i < n / 4; i += threads) {
    const float4 x = packs[i];
    sum += (x.x + x.y) + (x.z + x.w);
  }
  for (int i = n / 4 * 4 + thread; i < n; i += threads) sum += input[i];
#endif
  sum = block_sum(sum);

  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = sum;
    __threadfence();  // the partial sum is there before the count says so
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {
    __threadfence();
    sum = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial_sums[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[0] = sum;
  }
}
