// out[c, r] = input[r, c], through tiles in shared memory so that global reads and writes are both coalesced.
//
// Blocks of 32 x 8 threads move 32 x 32 tiles; the extra column of the tile keeps its column reads free of bank conflicts.
#include <stdint.h>

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void transpose_kernel(float* __restrict__ out, const float* __restrict__ input, int rows, int cols) {
  __shared__ float tile[kTile][kTile + 1];

  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int j = 0; j < kTile; j += kRows) {
    if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = input[static_cast<int64_t>(y + j) * cols + x];
  }
  __syncthreads();

  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
  for (int j = 0; j < kTile; j += kRows) {
    if (x < rows && y + j < cols) out[static_cast<int64_t>(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}
