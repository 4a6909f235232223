// matmul with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// matmul.cu.
#ifndef TILE_M       // rows of c per block
#define TILE_M 64
#endif
#ifndef TILE_N       // columns of c per block
#define TILE_N 64
#endif
#ifndef TILE_K       // depth staged at a time
#define TILE_K 16
#endif
#ifndef THREAD_M     // rows of c per thread
#define THREAD_M 4
#endif
#ifndef THREAD_N     // columns of c per thread
#define THREAD_N 4
#endif
#ifndef SPREAD       // 0: a thread's columns are neighbours · 1: neighbouring threads have neighbouring columns
#define SPREAD 0
#endif
#ifndef STAGE        // 0: a (transposed) and b in shared memory, copied 16 bytes at a time
#define STAGE 0      // 1: both as they are, 4 bytes at a time · 2: only b, and a straight from global memory
#endif
#ifndef UNROLL       // steps of the depth loop that are unrolled; 0: all of them
#define UNROLL 0
#endif

#include <stdint.h>

constexpr int kTileM = TILE_M;
constexpr int kTileN = TILE_N;
constexpr int kTileK = TILE_K;
constexpr int kThreadM = THREAD_M;
constexpr int kThreadN = THREAD_N;
constexpr int kThreadsX = kTileN / kThreadN;
constexpr int kThreadsY = kTileM / kThreadM;
constexpr int kThreads = kThreadsX * kThreadsY;

__global__ void __launch_bounds__(kThreads) matmul_kernel(float* __restrict__ c, const float* __restrict__ a,
                                                          const float* __restrict__ b, int m, int n, int k) {
#if STAGE == 0
  __shared__ float a_tile[kTileK][kTileM];
#elif STAGE == 1
  __shared__ float a_tile[kTileM][kTileK + 1];
#endif
  __shared__ float b_tile[kTileK][kTileN];

#if STAGE == 0
  const int thread = threadIdx.y * kThreadsX + threadIdx.x;
#else
  const int x = threadIdx.x;
  const int y = threadIdx.y;
#endif
  const int first_row = blockIdx.y * kTileM;
  const int first_col = blockIdx.x * kTileN;
#if STAGE != 0 || SPREAD
  const bool whole_cols = first_col + kTileN <= n;
#endif
  float sums[kThreadM][kThreadN] = {};

  for (int first_k = 0; first_k < k; first_k += kTileK) {
#if STAGE == 0
#pragma unroll
    for (int i = thread; i < kTileM * kTileK / 4; i += kThreads) {
      const int row = i / (kTileK / 4);
      const int depth = i % (kTileK / 4) * 4;
      float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (first_row + row < m && first_k + depth < k) {
        x = *reinterpret_cast<const float4*>(a + static_cast<int64_t>(first_row + row) * k + first_k + depth);
      }
      a_tile[depth + 0][row] = x.x;
      a_tile[depth + 1][row] = x.y;
      a_tile[depth + 2][row] = x.z;
      a_tile[depth + 3][row] = x.w;
    }
#pragma unroll
    for (int i = thread; i < kTileK * kTileN / 4; i += kThreads) {
      const int depth = i / (kTileN / 4);
      const int col = i % (kTileN / 4) * 4;
      float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (first_k + depth < k && first_col + col < n) {
        x = *reinterpret_cast<const float4*>(b + static_cast<int64_t>(first_k + depth) * n + first_col + col);
      }
      *reinterpret_cast<float4*>(&b_tile[depth][col]) = x;
    }
#else
    const int depths = min(kTileK, k - first_k);
#if STAGE == 1
    for (int row = y; row < kTileM; row += kThreadsY) {
      const float* from = a + static_cast<int64_t>(min(first_row + row, m - 1)) * k + first_k;
      for (int depth = x; depth < depths; depth += kThreadsX) a_tile[row][depth] = from[depth];
    }
#endif
    // The row of b is the same for all threads along x, and so is whether the tile sticks out of the matrix.
    for (int depth = y; depth < depths; depth += kThreadsY) {
      const float* from = b + static_cast<int64_t>(first_k + depth) * n + first_col;
      if (whole_cols) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) b_tile[depth][j * kThreadsX + x] = from[j * kThreadsX + x];
      } else {
        for (int col = x; col < kTileN; col += kThreadsX) b_tile[depth][col] = first_col + col < n ? from[col] : 0.0f;
      }
    }
#endif
    __syncthreads();

#if STAGE == 2
    const float* a_rows[kThreadM];
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
      a_rows[i] = a + static_cast<int64_t>(min(first_row + y * kThreadM + i, m - 1)) * k + first_k;
    }
#endif
#if UNROLL == 0
#pragma unroll
#else
    constexpr int kUnroll = UNROLL;  // nvcc expands no macro in a pragma
#pragma unroll kUnroll
#endif
#if STAGE == 0
    for (int depth = 0; depth < kTileK; ++depth) {
#else
    for (int depth = 0; depth < depths; ++depth) {
#endif
      float from_a[kThreadM];
      float from_b[kThreadN];
#pragma unroll
#if STAGE == 0
      for (int i = 0; i < kThreadM; ++i) from_a[i] = a_tile[depth][threadIdx.y * kThreadM + i];
#elif STAGE == 1
      for (int i = 0; i < kThreadM; ++i) from_a[i] = a_tile[y * kThreadM + i][depth];
#else
      for (int i = 0; i < kThreadM; ++i) from_a[i] = a_rows[i][depth];
#endif
#pragma unroll
#if SPREAD
      for (int j = 0; j < kThreadN; ++j) from_b[j] = b_tile[depth][j * kThreadsX + threadIdx.x];
#else
      for (int j = 0; j < kThreadN; ++j) from_b[j] = b_tile[depth][threadIdx.x * kThreadN + j];
#endif
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sums[i][j] += from_a[i] * from_b[j];
      }
    }
    __syncthreads();
  }

#if SPREAD
  if (whole_cols) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
      const int row = first_row + threadIdx.y * kThreadM + i;
      if (row >= m) break;
      float* to = c + static_cast<int64_t>(row) * n + first_col;
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) to[j * kThreadsX + threadIdx.x] = sums[i][j];
    }
    return;
  }
#endif
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = first_row + threadIdx.y * kThreadM + i;
#pragma unroll
    for (int j = 0; j < kThreadN; ++j) {
#if SPREAD
      const int col = first_col + j * kThreadsX + threadIdx.x;
#else
      const int col = first_col + threadIdx.x * kThreadN + j;
#endif
      if (row < m && col < n) c[static_cast<int64_t>(row) * n + col] = sums[i][j];
    }
  }
}
