// c[m, n] = a[m, k] * b[k, n], row-major, in float.
//
// A block computes a 64 x 64 tile of c with 16 x 16 threads, 4 x 4 elements each. Tiles of a (transposed, so that a thread's four
// rows are neighbours) and b pass through shared memory, 16 deep, moved 16 bytes at a time: n % 4 == 0 and k % 4 == 0. Edges are
// padded with zeros.
#include <stdint.h>

constexpr int kTileM = 64;
constexpr int kTileN = 64;
constexpr int kTileK = 16;
constexpr int kThreadM = 4;
constexpr int kThreadN = 4;
constexpr int kThreadsX = kTileN / kThreadN;
constexpr int kThreadsY = kTileM / kThreadM;
constexpr int kThreads = kThreadsX * kThreadsY;

__global__ void __launch_bounds__(kThreads) matmul_kernel(float* __restrict__ c, const float* __restrict__ a,
                                                          const float* __restrict__ b, int m, int n, int k) {
  __shared__ float a_tile[kTileK][kTileM];
  __shared__ float b_tile[kTileK][kTileN];

  const int thread = threadIdx.y * kThreadsX + threadIdx.x;
  const int first_row = blockIdx.y * kTileM;
  const int first_col = blockIdx.x * kTileN;
  float sums[kThreadM][kThreadN] = {};

  for (int first_k = 0; first_k < k; first_k += kTileK) {
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
    __syncthreads();

#pragma unroll
    for (int depth = 0; depth < kTileK; ++depth) {
      float from_a[kThreadM];
      float from_b[kThreadN];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) from_a[i] = a_tile[depth][threadIdx.y * kThreadM + i];
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) from_b[j] = b_tile[depth][threadIdx.x * kThreadN + j];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sums[i][j] += from_a[i] * from_b[j];
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = first_row + threadIdx.y * kThreadM + i;
#pragma unroll
    for (int j = 0; j < kThreadN; ++j) {
      const int col = first_col + threadIdx.x * kThreadN + j;
      if (row < m && col < n) c[static_cast<int64_t>(row) * n + col] = sums[i][j];
    }
  }
}
