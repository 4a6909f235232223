// convolution with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// convolution.cl.
#ifndef BLOCK_X      // items of a work-group along x
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y      // items of a work-group along y
#define BLOCK_Y 16
#endif
#ifndef PIXELS_X     // pixels per item along x
#define PIXELS_X 1
#endif
#ifndef PIXELS_Y     // pixels per item along y
#define PIXELS_Y 1
#endif
#ifndef STAGE        // 1: the tile in local memory · 0: pixels straight from global memory
#define STAGE 1
#endif
#ifndef UNROLL_ROWS  // 1: the loop over the filter's rows is unrolled too
#define UNROLL_ROWS 0
#endif
#define FILTER 9
#define TILE_X (BLOCK_X * PIXELS_X)
#define TILE_Y (BLOCK_Y * PIXELS_Y)

__kernel void convolution(__global float* restrict out, const __global float* restrict input, __constant float* filter,
                          const int height, const int width) {
#if STAGE
  __local float tile[TILE_Y + FILTER - 1][TILE_X + FILTER - 1];
#endif

  const int x = get_local_id(0);
  const int y = get_local_id(1);
#if STAGE
  const int first_x = get_group_id(0) * TILE_X;
  const int first_y = get_group_id(1) * TILE_Y;
#else
  // The last tiles move back to end with the image: what two tiles share is computed twice, to the same values, and nothing is
  // read outside.
  const int first_x = max(0, min((int)get_group_id(0) * TILE_X, width - TILE_X));
  const int first_y = max(0, min((int)get_group_id(1) * TILE_Y, height - TILE_Y));
#endif
  const int pitch = width + FILTER - 1;
#if STAGE == 0 || TILE_X > 16 || TILE_Y > 16
  // An image smaller than a tile: pixel by pixel, straight from global memory, and only those that exist.
  if (height < TILE_Y || width < TILE_X) {
    for (int row = first_y + y; row < min(height, first_y + TILE_Y); row += BLOCK_Y) {
      for (int col = first_x + x; col < min(width, first_x + TILE_X); col += BLOCK_X) {
        const __global float* from = input + row * pitch + col;
        float sum = 0.0f;
        for (int t = 0; t < FILTER * FILTER; ++t) sum += from[t / FILTER * pitch + t % FILTER] * filter[t];
        out[row * width + col] = sum;
      }
    }
    return;
  }
#endif

#if STAGE
  for (int i = y; i < TILE_Y + FILTER - 1; i += BLOCK_Y) {
    for (int j = x; j < TILE_X + FILTER - 1; j += BLOCK_X) {
      const bool inside = first_y + i < height + FILTER - 1 && first_x + j < pitch;
      tile[i][j] = inside ? input[(first_y + i) * pitch + first_x + j] : 0.0f;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

  float sums[PIXELS_Y][PIXELS_X];
#pragma unroll
  for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
    for (int q = 0; q < PIXELS_X; ++q) sums[p][q] = 0.0f;
  }
#if STAGE == 0
  const __global float* from = input + first_y * pitch + first_x;
#endif
#if UNROLL_ROWS
#pragma unroll
#endif
  for (int i = 0; i < FILTER; ++i) {
#pragma unroll
    for (int j = 0; j < FILTER; ++j) {
      const float tap = filter[i * FILTER + j];
#pragma unroll
      for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
#if STAGE
        for (int q = 0; q < PIXELS_X; ++q) sums[p][q] += tile[p * BLOCK_Y + y + i][q * BLOCK_X + x + j] * tap;
#else
        for (int q = 0; q < PIXELS_X; ++q) sums[p][q] += (from + (p * BLOCK_Y + y + i) * pitch)[q * BLOCK_X + x + j] * tap;
#endif
      }
    }
  }
#if STAGE == 0
#pragma unroll
  for (int p = 0; p < PIXELS_Y; ++p) {
    __global float* to = out + (first_y + p * BLOCK_Y + y) * width + first_x;
#pragma unroll
    for (int q = 0; q < PIXELS_X; ++q) to[q * BLOCK_X + x] = sums[p][q];
  }
#else

#pragma unroll
  for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
    for (int q = 0; q < PIXELS_X; ++q) {
      const int row = first_y + p * BLOCK_Y + y;
      const int col = first_x + q * BLOCK_X + x;
      if (row < height && col < width) out[row * width + col] = sums[p][q];
    }
  }
#endif
}
