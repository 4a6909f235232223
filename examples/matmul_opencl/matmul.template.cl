// matmul with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// matmul.cl.
#ifndef TILE_M       // rows of c per work-group
#define TILE_M 32
#endif
#ifndef TILE_N       // columns of c per work-group
#define TILE_N 32
#endif
#ifndef TILE_K       // depth staged at a time
#define TILE_K 32
#endif
#ifndef WORK_M       // rows of c per item
#define WORK_M 4
#endif
#ifndef WORK_N       // columns of c per item
#define WORK_N 1
#endif
#ifndef STAGE_A      // 1: a's tile in local memory · 0: a straight from global memory
#define STAGE_A 1
#endif
#ifndef WHOLE        // 1: tiles that lie inside the matrix are handled without bounds checks
#define WHOLE 0
#endif
#define ITEMS_X (TILE_N / WORK_N)
#define ITEMS_Y (TILE_M / WORK_M)

__kernel void matmul(__global float* restrict c, const __global float* restrict a, const __global float* restrict b, const int m,
                     const int n, const int k) {
#if STAGE_A
  __local float a_tile[TILE_M][TILE_K];
#endif
  __local float b_tile[TILE_K][TILE_N];

  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int first_row = get_group_id(1) * TILE_M;
  const int first_col = get_group_id(0) * TILE_N;
#if WHOLE
  const bool whole_cols = first_col + TILE_N <= n;
#endif
  float sums[WORK_M][WORK_N];
#pragma unroll
  for (int i = 0; i < WORK_M; ++i) {
#pragma unroll
    for (int j = 0; j < WORK_N; ++j) sums[i][j] = 0.0f;
  }

  for (int first_k = 0; first_k < k; first_k += TILE_K) {
#if STAGE_A
    for (int row = y; row < TILE_M; row += ITEMS_Y) {
      for (int depth = x; depth < TILE_K; depth += ITEMS_X) {
        const bool inside = first_row + row < m && first_k + depth < k;
        a_tile[row][depth] = inside ? a[(long)(first_row + row) * k + first_k + depth] : 0.0f;
      }
    }
#else
    // Rows below the matrix read its last row: their sums are never stored.
    const __global float* a_rows[WORK_M];
#pragma unroll
    for (int i = 0; i < WORK_M; ++i) a_rows[i] = a + (long)min(first_row + i * ITEMS_Y + y, m - 1) * k + first_k;
    const int depths = min(TILE_K, k - first_k);
#endif
#if WHOLE
    if (whole_cols) {
      for (int depth = y; depth < min(TILE_K, k - first_k); depth += ITEMS_Y) {
        const __global float* from = b + (long)(first_k + depth) * n + first_col;
#pragma unroll
        for (int j = 0; j < WORK_N; ++j) b_tile[depth][j * ITEMS_X + x] = from[j * ITEMS_X + x];
      }
      for (int depth = k - first_k + y; depth < TILE_K; depth += ITEMS_Y) {
#pragma unroll
        for (int j = 0; j < WORK_N; ++j) b_tile[depth][j * ITEMS_X + x] = 0.0f;
      }
    } else
#endif
    for (int depth = y; depth < TILE_K; depth += ITEMS_Y) {
      for (int col = x; col < TILE_N; col += ITEMS_X) {
        const bool inside = first_k + depth < k && first_col + col < n;
        b_tile[depth][col] = inside ? b[(long)(first_k + depth) * n + first_col + col] : 0.0f;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

#if STAGE_A
#pragma unroll
    for (int depth = 0; depth < TILE_K; ++depth) {
#else
    for (int depth = 0; depth < depths; ++depth) {
#endif
#pragma unroll
      for (int j = 0; j < WORK_N; ++j) {
        const float from_b = b_tile[depth][j * ITEMS_X + x];
#pragma unroll
#if STAGE_A
        for (int i = 0; i < WORK_M; ++i) sums[i][j] += a_tile[i * ITEMS_Y + y][depth] * from_b;
#else
        for (int i = 0; i < WORK_M; ++i) sums[i][j] += a_rows[i][depth] * from_b;
#endif
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#if WHOLE
  if (whole_cols) {
#pragma unroll
    for (int i = 0; i < WORK_M; ++i) {
      const int row = first_row + i * ITEMS_Y + y;
      __global float* to = c + (long)row * n + first_col;
      if (row < m) {
#pragma unroll
        for (int j = 0; j < WORK_N; ++j) to[j * ITEMS_X + x] = sums[i][j];
      }
    }
    return;
  }
#endif
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
