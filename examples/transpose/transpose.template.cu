// transpose with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// transpose.cu.
#ifndef TILE         // side of the square a block moves, or its columns when PATH is 3 or 4
#define TILE 32
#endif
#ifndef ROWS         // rows of threads in a block
#define ROWS 8
#endif
#ifndef PATH         // 0: through shared memory · 1: coalesced reads, each thread writes along its row of the output
#define PATH 0       // 2: coalesced writes, each thread reads along its row of the input
#endif               // 3: each thread turns 4 x 4 squares in its registers · 4: 8 x 8 ones where rows of the output are whole cache lines
#ifndef DEPTH        // most rows a block moves when PATH is 3 or 4
#define DEPTH 64
#endif
#ifndef STRIP        // rows a thread moves before it goes on to its next columns when PATH is 3 or 4
#define STRIP 4
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

#if WHOLE || PATH == 1 || PATH == 2
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

#if PATH >= 3
template <int kWidth>
__device__ __forceinline__ void read4(float* to, const float* from) {
  if constexpr (kWidth == 4) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3];
  }
}

template <int kWidth>
__device__ __forceinline__ void write4(float* to, float a, float b, float c, float d) {
  if constexpr (kWidth == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(a, b, c, d);
  } else if constexpr (kWidth == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(a, b);
    *reinterpret_cast<float2*>(to + 2) = make_float2(c, d);
  } else {
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
}

// depth x TILE elements, with reads of kRead elements and writes of kWrite. Neighbouring threads read neighbouring columns; in a
// strip of 16 rows each of them writes whole cache lines.
template <int kRead, int kWrite>
__device__ __forceinline__ void move_squares(float* __restrict__ to, const float* __restrict__ from, int64_t rows, int64_t cols,
                                             int depth) {
  for (int strip = 0; strip < depth; strip += STRIP) {
    for (int c = threadIdx.y * 4; c < kTile; c += kRows * 4) {
#pragma unroll
      for (int r = strip; r < strip + STRIP; r += 4) {
        float square[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) read4<kRead>(square[i], from + (r + i) * cols + c);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          write4<kWrite>(to + (c + j) * rows + r, square[0][j], square[1][j], square[2][j], square[3][j]);
        }
      }
    }
  }
}
#endif

#if PATH == 4
#ifdef __clang__
// Eight floats that the compiler keeps in one vector: from single floats it does not find the shuffles below.
typedef float Eight __attribute__((ext_vector_type(8)));

__device__ __forceinline__ void turn(Eight (&row)[8]) {
  Eight pairs[8];
  Eight fours[8];
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Eight a = pairs[i + half];
      const Eight b = pairs[i + half + 2];
      fours[i + 2 * half] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * half + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    row[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    row[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

__device__ __forceinline__ void stream(float* to, const Eight& eight) {
  __builtin_nontemporal_store(eight, reinterpret_cast<Eight*>(to));
}
#else
struct alignas(32) Eight {
  float lane[8];
};

__device__ __forceinline__ void turn(Eight (&row)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < i; ++j) {
      const float kept = row[i].lane[j];
      row[i].lane[j] = row[j].lane[i];
      row[j].lane[i] = kept;
    }
  }
}

__device__ __forceinline__ void stream(float* to, const Eight& eight) {
  const float4* halves = reinterpret_cast<const float4*>(&eight);
  __stcs(reinterpret_cast<float4*>(to), halves[0]);
  __stcs(reinterpret_cast<float4*>(to) + 1, halves[1]);
}
#endif

// depth x TILE elements, where every row of the output begins with a cache line. Two squares, one below the other, are turned
// before anything is written: eight whole lines. Nobody has to read those first, so memory moves two thirds of the bytes.
__device__ __forceinline__ void move_lines(float* __restrict__ to, const float* __restrict__ from, int64_t rows, int64_t cols,
                                           int depth) {
  for (int r = 0; r < depth; r += 16) {
    for (int c = threadIdx.y * 8; c < kTile; c += kRows * 8) {
      Eight upper[8];
      Eight lower[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) memcpy(&upper[i], from + (r + i) * cols + c, sizeof(Eight));
#pragma unroll
      for (int i = 0; i < 8; ++i) memcpy(&lower[i], from + (r + 8 + i) * cols + c, sizeof(Eight));
      turn(upper);
      turn(lower);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float* line = to + (c + i) * rows + r;
        stream(line, upper[i]);
        stream(line + 8, lower[i]);
      }
    }
  }
}
#endif

__global__ void transpose_kernel(float* __restrict__ out, const float* __restrict__ input, int rows, int cols) {
#if PATH >= 3
  // The rows are shared out evenly, in whole strips.
  constexpr int kStrip = PATH == 4 ? 16 : STRIP;
  const int share = (rows + static_cast<int>(gridDim.y) - 1) / static_cast<int>(gridDim.y);
  const int depth = (share + kStrip - 1) / kStrip * kStrip;
  if (rows >= depth && cols >= kTile) {
    // The last blocks move back so that they end with the matrix. What two blocks share is written twice, with the same values;
    // in return no thread ever needs a bounds check.
    const int64_t first_row = min(static_cast<int>(blockIdx.y) * depth, rows - depth);
    const int64_t first_col = min(static_cast<int>(blockIdx.x) * kTile, cols - kTile);
    float* to = out + first_col * rows + first_row;
    const float* from = input + first_row * cols + first_col;
#if PATH == 4
    if (rows % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0) {
      move_lines(to, from, rows, cols, depth);
      return;
    }
#endif
    if (cols % 4 == 0 && rows % 4 == 0) {
      move_squares<4, 4>(to, from, rows, cols, depth);
    } else if (cols % 4 == 0 && rows % 2 == 0) {
      move_squares<4, 2>(to, from, rows, cols, depth);
    } else {
      move_squares<1, 1>(to, from, rows, cols, depth);
    }
  } else {
    const int64_t first_row = static_cast<int64_t>(blockIdx.y) * share;
    const int64_t first_col = static_cast<int64_t>(blockIdx.x) * kTile;
    const int rows_here = min(share, static_cast<int>(rows - first_row));
    const int cols_here = min(kTile, static_cast<int>(cols - first_col));
    float* to = out + first_col * rows + first_row;
    const float* from = input + first_row * cols + first_col;
    for (int c = threadIdx.y; c < cols_here; c += kRows) {
      for (int r = 0; r < rows_here; ++r) to[static_cast<int64_t>(c) * rows + r] = from[static_cast<int64_t>(r) * cols + c];
    }
  }
#elif WHOLE || PATH != 0
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
