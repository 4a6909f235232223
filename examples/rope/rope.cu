// Rotary position embedding of queries and keys, rotating the two halves of each head against each other:
//   out[:half] = x[:half] * cos - x[half:] * sin,  out[half:] = x[half:] * cos + x[:half] * sin
//
// One block per token; every thread moves 16 bytes of each half at a time, so head_dim / 2 * sizeof(T) % 16 == 0. A row of
// cos_sin has the cosines of one position, then its sines, in float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

template <typename T>
__global__ void rope_kernel(T* __restrict__ q_out, T* __restrict__ k_out, const T* __restrict__ q, const T* __restrict__ k,
                            const float* __restrict__ cos_sin, const int* __restrict__ positions, int q_heads, int k_heads,
                            int head_dim) {
  constexpr int kLanes = 16 / sizeof(T);
  using Packed = Pack<T, kLanes>;
  using Angles = Pack<float, kLanes>;

  const int64_t token = blockIdx.x;
  const int packs = head_dim / 2 / kLanes;
  const Angles* cosines = reinterpret_cast<const Angles*>(cos_sin + static_cast<int64_t>(positions[token]) * head_dim);
  const Angles* sines = cosines + packs;

  for (int i = threadIdx.x; i < (q_heads + k_heads) * packs; i += blockDim.x) {
    const int head = i / packs;
    const int pack = i % packs;
    const bool is_query = head < q_heads;
    const int64_t offset = is_query ? (token * q_heads + head) * head_dim : (token * k_heads + head - q_heads) * head_dim;
    const Packed* from = reinterpret_cast<const Packed*>((is_query ? q : k) + offset);
    Packed* to = reinterpret_cast<Packed*>((is_query ? q_out : k_out) + offset);
    const Angles c = cosines[pack];
    const Angles s = sines[pack];
    const Packed x = from[pack];
    const Packed y = from[packs + pack];
    Packed rotated_x;
    Packed rotated_y;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float a = static_cast<float>(x.lane[lane]);
      const float b = static_cast<float>(y.lane[lane]);
      rotated_x.lane[lane] = static_cast<T>(a * c.lane[lane] - b * s.lane[lane]);
      rotated_y.lane[lane] = static_cast<T>(b * c.lane[lane] + a * s.lane[lane]);
    }
    to[pack] = rotated_x;
    to[packs + pack] = rotated_y;
  }
}
