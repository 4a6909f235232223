// Softmax over the last dimension: out[r, c] = exp(input[r, c] - max_r) / sum_r.
//
// One block of whole warps per row; every thread moves 16 bytes at a time, so cols * sizeof(T) % 16 == 0. The first sweep keeps a
// running maximum and a sum relative to it, so the row is read twice in all. Every row needs one finite element.
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

template <typename Op>
__device__ __forceinline__ float warp_reduce(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = Op()(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}

// Each operation has its own array, so one reduction may follow the other without a barrier between them.
template <typename Op>
__device__ __forceinline__ float block_reduce(float value) {
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
}

template <typename T>
__global__ void softmax_kernel(T* __restrict__ out, const T* __restrict__ input, int cols) {
  constexpr int kLanes = 16 / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int64_t row = blockIdx.x;
  const Packed* from = reinterpret_cast<const Packed*>(input + row * cols);
  Packed* to = reinterpret_cast<Packed*>(out + row * cols);
  const int packs = cols / kLanes;

  float top = -INFINITY;
  float mass = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed x = from[i];
    float higher = top;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) higher = fmaxf(higher, static_cast<float>(x.lane[lane]));
    mass *= expf(top - higher);
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) mass += expf(static_cast<float>(x.lane[lane]) - higher);
    top = higher;
  }

  const float row_top = block_reduce<Max>(top);
  const float inverse = 1.0f / block_reduce<Sum>(mass * expf(top - row_top));

  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed x = from[i];
    Packed y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      y.lane[lane] = static_cast<T>(expf(static_cast<float>(x.lane[lane]) - row_top) * inverse);
    }
    to[i] = y;
  }
}
