// Joins two partial attention results over disjoint keys. Each comes as a normalised value v [rows, head_dim] and the
// log-sum-exp s [rows] of its scores, a row being one head of one token; the result is what attention over all keys gives.
//
// One thread per 16 bytes of the output, so head_dim * sizeof(T) % 16 == 0. The threads of a row all compute its two weights:
// that is cheaper than sharing them. At least one of the two parts of a row must have seen a key (a finite s).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T lane[N];
};

template <typename T>
__global__ void merge_attn_states_lse_kernel(const T* __restrict__ v_a, const float* __restrict__ s_a, const T* __restrict__ v_b,
                                             const float* __restrict__ s_b, T* __restrict__ v_out, float* __restrict__ s_out,
                                             int rows, int head_dim) {
  constexpr int kLanes = 16 / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int packs = head_dim / kLanes;
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = index / packs;
  const int pack = index % packs;
  if (row >= rows) return;

  const float lse_a = s_a[row];
  const float lse_b = s_b[row];
  const float top = fmaxf(lse_a, lse_b);
  const float mass_a = expf(lse_a - top);
  const float mass_b = expf(lse_b - top);
  const float mass = mass_a + mass_b;
  const float weight_a = mass_a / mass;
  const float weight_b = mass_b / mass;

  const int64_t offset = static_cast<int64_t>(row) * packs + pack;
  const Packed a = reinterpret_cast<const Packed*>(v_a)[offset];
  const Packed b = reinterpret_cast<const Packed*>(v_b)[offset];
  Packed merged;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    merged.lane[lane] = static_cast<T>(static_cast<float>(a.lane[lane]) * weight_a + static_cast<float>(b.lane[lane]) * weight_b);
  }
  reinterpret_cast<Packed*>(v_out)[offset] = merged;
  if (pack == 0) s_out[row] = logf(mass) + top;
}
