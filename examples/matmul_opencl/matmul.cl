// c[m, n] = a[m, k] * b[k, n], row-major, in float.
//
// A work-group of 32 x 8 items computes a 32 x 32 tile of c: every item four elements of one column, so that each value read from
// b's tile is used four times. Both tiles pass through local memory, 32 deep; edges are padded with zeros.
#define TILE_M 32
#define TILE_N 32
#define TILE_K 32
#define WORK_M 4
#define WORK_N 1
#define ITEMS_X (TILE_N / WORK_N)
#define ITEMS_Y (TILE_M / WORK_M)

__kernel void matmul(__global float* restrict c, const __global float* restrict a, const __global float* restrict b, const int m,
                     const int n, const int k) {
  __local float a_tile[TILE_M][TILE_K];
  __local float b_tile[TILE_K][TILE_N];

  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int first_row = get_group_id(1) * TILE_M;
  const int first_col = get_group_id(0) * TILE_N;
  float sums[WORK_M][WORK_N];
#pragma unroll
  for (int i = 0; i < WORK_M; ++i) {
#pragma unroll
    for (int j = 0; j < WORK_N; ++j) sums[i][j] = 0.0f;
  }

  for (int first_k = 0; first_k < k; first_k += TILE_K) {
    for (int row = y; row < TILE_M; row += ITEMS_Y) {
      for (int depth = x; depth < TILE_K; depth += ITEMS_X) {
        const bool inside = first_row + row < m && first_k + depth < k;
        a_tile[row][depth] = inside ? a[(long)(first_row + row) * k + first_k + depth] : 0.0f;
      }
    }
    for (int depth = y; depth < TILE_K; depth += ITEMS_Y) {
      for (int col = x; col < TILE_N; col += ITEMS_X) {
        const bool inside = first_k + depth < k && first_col + col < n;
        b_tile[depth][col] = inside ? b[(long)(first_k + depth) * n + first_col + col] : 0.0f;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
    for (int depth = 0; depth < TILE_K; ++depth) {
#pragma unroll
      for (int j = 0; j < WORK_N; ++j) {
        const float from_b = b_tile[depth][j * ITEMS_X + x];
#pragma unroll
        for (int i = 0; i < WORK_M; ++i) sums[i][j] += a_tile[i * ITEMS_Y + y][depth] * from_b;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < WORK_M; ++i) {
    const int row = first_row + i * ITEMS_Y + y;
#pragma unroll
    for (int j = 0; j < WORK_N; ++j) {
      const int col = first_col + j * ITEMS_X + x;
      if (row < m && col < n) c[(long)row * n + col] = sums[i][j];
    }
  }
}
