// The sum of n floats in one launch, with the same result every time.
//
// Each block adds a grid-stride share with 16-byte loads and leaves a partial sum; the last block to finish adds those up. The
// input must be 16-byte aligned; n may be anything. At most kMaxBlocks blocks.
#include <stdint.h>

constexpr int kMaxBlocks = 1024;

__device__ float partial_sums[kMaxBlocks];
__device__ unsigned int blocks_done;  // back at 0 after every launch

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

__device__ __forceinline__ float block_sum(float value) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
  __syncthreads();  // the array may be used again
  return value;
}

__global__ void reduction_kernel(float* __restrict__ out, const float* __restrict__ input, int n) {
  const float4* packs = reinterpret_cast<const float4*>(input);
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;

  float sum = 0.0f;
  for (int i = thread; i < n / 4; i += threads) {
    const float4 x = packs[i];
    sum += (x.x + x.y) + (x.z + x.w);
  }
  for (int i = n / 4 * 4 + thread; i < n; i += threads) sum += input[i];
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
