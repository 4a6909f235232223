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
#ifndef COLS         // packs of a row per thread when MAP is not 0
#define COLS 1
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

#if MAP != 0
struct Merge {
  float weight_a;
  float weight_b;
  float lse;
};

__device__ __forceinline__ Merge merge_of(float lse_a, float lse_b) {
  const float top = fmaxf(lse_a, lse_b);
  const float mass_a = expf(lse_a - top);
  const float mass_b = expf(lse_b - top);
  const float mass = mass_a + mass_b;
  return {mass_a / mass, mass_b / mass, logf(mass) + top};
}
#endif

template <typename T>
__global__ void merge_attn_states_lse_kernel(const T* __restrict__ v_a, const float* __restrict__ s_a, const T* __restrict__ v_b,
                                             const float* __restrict__ s_b, T* __restrict__ v_out, float* __restrict__ s_out,
                                             int rows, int head_dim) {
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;

  const int packs = head_dim / kLanes;
#if MAP != 0
  const int first = blockIdx.x * (ROWS * STEPS);
  const int rows_here = min(ROWS * STEPS, rows - first);
  const int pack = threadIdx.x;
#if MAP == 2
  __shared__ float weights_a[ROWS * STEPS];
  __shared__ float weights_b[ROWS * STEPS];
  if (threadIdx.y == 0) {
    for (int i = threadIdx.x; i < rows_here; i += blockDim.x) {
      const Merge merge = merge_of(s_a[first + i], s_b[first + i]);
      weights_a[i] = merge.weight_a;
      weights_b[i] = merge.weight_b;
      s_out[first + i] = merge.lse;
    }
  }
  __syncthreads();
#endif

#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
    const int local = step * ROWS + threadIdx.y;
    if (local >= rows_here) break;
    const int row = first + local;
#if MAP == 2
    const float weight_a = weights_a[local];
    const float weight_b = weights_b[local];
#else
    const Merge merge = merge_of(s_a[row], s_b[row]);
    const float weight_a = merge.weight_a;
    const float weight_b = merge.weight_b;
    if (threadIdx.x == 0) s_out[row] = merge.lse;
#endif
    const int64_t base = static_cast<int64_t>(row) * packs;
    const Packed* row_a = reinterpret_cast<const Packed*>(v_a) + base;
    const Packed* row_b = reinterpret_cast<const Packed*>(v_b) + base;
    Packed* row_out = reinterpret_cast<Packed*>(v_out) + base;
#pragma unroll
    for (int col = 0; col < COLS; ++col) {
      const Packed a = row_a[pack];
      const Packed b = row_b[pack];
      Packed merged;
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        const float x = static_cast<float>(a.lane[lane]);
        const float y = static_cast<float>(b.lane[lane]);
        merged.lane[lane] = static_cast<T>(x * weight_a + y * weight_b);
      }
      row_out[pack] = merged;
      row_a += blockDim.x;
      row_b += blockDim.x;
      row_out += blockDim.x;
    }
  }
#else
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
#endif
}
