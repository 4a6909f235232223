// merge_attn_states_lse with its execution choices made explicit. With every parameter at its default the preprocessed tokens are
// those of merge_attn_states_lse.cu.
#ifndef BLOCK        // threads in a block when MAP is 0
#define BLOCK 128
#endif
#ifndef VEC_BYTES    // bytes per access
#define VEC_BYTES 16
#endif
#ifndef MAP          // 0: threads in one line over all packs · 1: threadIdx.x along a row, threadIdx.y over rows
#define MAP 0        // 2: as 1, and the weights of the block's rows are computed first, one thread per row
#endif
#ifndef ROWS         // rows in a block at a time when MAP is not 0
#define ROWS 1
#endif
#ifndef STEPS        // how many times ROWS a block does when MAP is not 0
#define STEPS 1
#endif

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
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int packs = head_dim / kLanes;
#if MAP == 0
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = index / packs;
  const int pack = index % packs;
  if (row >= rows) return;
#else
  const int first = blockIdx.x * (ROWS * STEPS);
  const int pack = threadIdx.x;
#endif

#if MAP == 2
  __shared__ float weights_a[ROWS * STEPS];
  __shared__ float weights_b[ROWS * STEPS];
  if (threadIdx.y == 0) {
    const int rows_here = min(ROWS * STEPS, rows - first);
    for (int i = threadIdx.x; i < rows_here; i += blockDim.x) {
      const float lse_a = s_a[first + i];
      const float lse_b = s_b[first + i];
      const float top = fmaxf(lse_a, lse_b);
      const float mass_a = expf(lse_a - top);
      const float mass_b = expf(lse_b - top);
      const float mass = mass_a + mass_b;
      weights_a[i] = mass_a / mass;
      weights_b[i] = mass_b / mass;
      s_out[first + i] = logf(mass) + top;
    }
  }
  __syncthreads();
#endif

#if MAP != 0
#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
    const int local = step * ROWS + threadIdx.y;
    const int row = first + local;
    if (row >= rows) break;
#endif
#if MAP == 2
  const float weight_a = weights_a[local];
  const float weight_b = weights_b[local];
#else
  const float lse_a = s_a[row];
  const float lse_b = s_b[row];
  const float top = fmaxf(lse_a, lse_b);
  const float mass_a = expf(lse_a - top);
  const float mass_b = expf(lse_b - top);
  const float mass = mass_a + mass_b;
  const float weight_a = mass_a / mass;
  const float weight_b = mass_b / mass;
#endif

#if MAP == 0
  const int64_t offset = static_cast<int64_t>(row) * packs + pack;
  const Packed a = reinterpret_cast<const Packed*>(v_a)[offset];
  const Packed b = reinterpret_cast<const Packed*>(v_b)[offset];
#else
  // The row's address is the same for all threads along x; only the pack differs, so that the unit stride shows.
  const int64_t base = static_cast<int64_t>(row) * packs;
  const Packed a = (reinterpret_cast<const Packed*>(v_a) + base)[pack];
  const Packed b = (reinterpret_cast<const Packed*>(v_b) + base)[pack];
#endif
  Packed merged;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    merged.lane[lane] = static_cast<T>(static_cast<float>(a.lane[lane]) * weight_a + static_cast<float>(b.lane[lane]) * weight_b);
  }
#if MAP == 0
  reinterpret_cast<Packed*>(v_out)[offset] = merged;
#else
  (reinterpret_cast<Packed*>(v_out) + base)[pack] = merged;
#endif
#if MAP != 2
  if (pack == 0) s_out[row] = logf(mass) + top;
#endif
#if MAP != 0
  }
#endif
}
