// SwiGLU's gate: out[t, i] = silu(input[t, i]) * input[t, d + i].
//
// One block per token. Every thread loads and stores 16 bytes at a time at element offsets, a block's width apart; what does not
// fill such an access is done element by element. Rows must be 16-byte aligned, which the caller guarantees. Arithmetic is done in
// float whatever the storage type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];

  __device__ __forceinline__ void load(const T* from) { *this = *reinterpret_cast<const Pack*>(from); }
  __device__ __forceinline__ void store(T* to) const { *reinterpret_cast<Pack*>(to) = *this; }
};

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }

template <typename T>
__global__ void silu_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, int d) {
  constexpr int kLanes = 16 / sizeof(T);
  const int64_t token = blockIdx.x;
  const T* gate = input + token * 2 * d;
  const T* up = gate + d;
  T* row = out + token * d;

#pragma unroll 1
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
}
