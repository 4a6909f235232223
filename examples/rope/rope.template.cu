// rope with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// rope.cu.
#ifndef BLOCK        // threads in a block when MAP is 0
#define BLOCK 512
#endif
#ifndef VEC_BYTES    // bytes per access
#define VEC_BYTES 16
#endif
#ifndef MAP          // 0: threads in one line over all heads of the token · 1: threadIdx.x along half a head, threadIdx.y over
#define MAP 0        // heads, so that a thread keeps its cosines and sines for all its heads
#endif
#ifndef HEADS        // heads in a block at a time when MAP is 1
#define HEADS 1
#endif
#ifndef SPLIT        // blocks that share the heads of a token
#define SPLIT 1
#endif

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
  constexpr int kLanes = VEC_BYTES / sizeof(T);
  using Packed = Pack<T, kLanes>;
  using Angles = Pack<float, kLanes>;

#if SPLIT == 1
  const int64_t token = blockIdx.x;
#else
  const int64_t token = blockIdx.x / SPLIT;
  const int part = blockIdx.x % SPLIT;
#endif
  const int packs = head_dim / 2 / kLanes;
  const Angles* cosines = reinterpret_cast<const Angles*>(cos_sin + static_cast<int64_t>(positions[token]) * head_dim);
  const Angles* sines = cosines + packs;

#if MAP == 1
  const int pack = threadIdx.x;
  const Angles c = cosines[pack];
  const Angles s = sines[pack];
#if SPLIT == 1
  for (int head = threadIdx.y; head < q_heads + k_heads; head += HEADS) {
#else
  for (int head = part * HEADS + threadIdx.y; head < q_heads + k_heads; head += SPLIT * HEADS) {
#endif
#elif SPLIT == 1
  for (int i = threadIdx.x; i < (q_heads + k_heads) * packs; i += blockDim.x) {
#else
  for (int i = part * blockDim.x + threadIdx.x; i < (q_heads + k_heads) * packs; i += SPLIT * blockDim.x) {
#endif
#if MAP == 0
    const int head = i / packs;
    const int pack = i % packs;
#endif
    const bool is_query = head < q_heads;
    const int64_t offset = is_query ? (token * q_heads + head) * head_dim : (token * k_heads + head - q_heads) * head_dim;
    const Packed* from = reinterpret_cast<const Packed*>((is_query ? q : k) + offset);
    Packed* to = reinterpret_cast<Packed*>((is_query ? q_out : k_out) + offset);
#if MAP == 0
    const Angles c = cosines[pack];
    const Angles s = sines[pack];
#endif
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
