// SwiGLU's gate: out[t, i] = silu(input[t, i]) * input[t, d + i].
//
// One block per token; every thread moves 16 bytes at a time. Rows must therefore be 16-byte aligned: d * sizeof(T) % 16 == 0,
// which the caller guarantees. Arithmetic is done in float whatever the storage type.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }

template <typename T>
__global__ void silu_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, int d) {
  constexpr int kLanes = 16 / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int64_t token = blockIdx.x;
  const Packed* gate = reinterpret_cast<const Packed*>(input + token * 2 * d);
  const Packed* up = reinterpret_cast<const Packed*>(input + token * 2 * d + d);
  Packed* row = reinterpret_cast<Packed*>(out + token * d);

#pragma unroll 1
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
