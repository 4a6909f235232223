// transpose with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// transpose.cu.
#ifndef TILE         // side of the square a block moves
#define TILE 32
#endif
#ifndef ROWS         // rows of threads in a block
#define ROWS 8
#endif
#ifndef PATH         // 0: through shared memory · 1: coalesced reads, each thread writes along its row of the output
#define PATH 0       // 2: coalesced writes, each thread reads along its row of the input
#endif
#ifndef PAD          // extra columns of the shared tile
#define PAD 1
#endif
#ifndef WHOLE        // 1: tiles that lie inside the matrix are moved without bounds checks
#define WHOLE 0
#endif

#include <stdint.h>

constexpr int kTile = TILE;
constexpr int kRows = ROWS;

#if WHOLE || PATH != 0
// The body, with or without bounds checks. A block's first row and column are the same for all its threads, and only the small
// offsets inside the tile differ: the strides stay visible to the compiler.
template <bool kChecked>
__device__ __forceinline__ void move_tile(float* __restrict__ out, const float* __restrict__ input, int rows, int cols,
                                          int64_t first_row, int64_t first_col) {
  const int rows_here = min(kTile, static_cast<int>(rows - first_row));
  const int cols_here = min(kTile, static_cast<int>(cols - first_col));
  const float* from = input + first_row * cols + first_col;
  float* to = out + first_col * rows + first_row;
  const int x = threadIdx.x;
  const int y = threadIdx.y;
#if PATH == 0
  __shared__ float tile[kTile][kTile + PAD];
#pragma unroll
  for (int j = 0; j < kTile; j += kRows) {
    if (!kChecked || (x < cols_here && y + j < rows_here)) tile[y + j][x] = (from + static_cast<int64_t>(y + j) * cols)[x];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kTile; j += kRows) {
    if (!kChecked || (x < rows_here && y + j < cols_here)) (to + static_cast<int64_t>(y + j) * rows)[x] = tile[x][y + j];
  }
#elif PATH == 1
  constexpr int kShare = kTile / kRows;  // neighbouring elements, so that a thread fills whole sectors
  float* mine = to + static_cast<int64_t>(x) * rows + y * kShare;
#pragma unroll
  for (int j = 0; j < kShare; ++j) {
    const float* row = from + static_cast<int64_t>(y * kShare + j) * cols;
    if (!kChecked || (x < cols_here && y * kShare + j < rows_here)) mine[j] = row[x];
  }
#else
  constexpr int kShare = kTile / kRows;
  const float* mine = from + static_cast<int64_t>(x) * cols + y * kShare;
#pragma unroll
  for (int j = 0; j < kShare; ++j) {
    float* row = to + static_cast<int64_t>(y * kShare + j) * rows;
    if (!kChecked || (x < rows_here && y * kShare + j < cols_here)) row[x] = mine[j];
  }
#endif
}
#endif

__global__ void transpose_kernel(float* __restrict__ out, const float* __restrict__ input, int rows, int cols) {
#if WHOLE || PATH != 0
  const int64_t first_row = blockIdx.y * kTile;
  const int64_t first_col = blockIdx.x * kTile;
#if WHOLE
  if (first_row + kTile <= rows && first_col + kTile <= cols) {
    move_tile<false>(out, input, rows, cols, first_row, first_col);
  } else {
    move_tile<true>(out, input, rows, cols, first_row, first_col);
  }
#else
  move_tile<true>(out, input, rows, cols, first_row, first_col);
#endif
#else
  __shared__ float tile[kTile][kTile + PAD];

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
#endif
}
