// A 9 x 9 filter over a one-channel image: out[y, x] = sum over i, j of filter[i, j] * input[y + i, x + j].
//
// The input has a border of 8 more rows and columns than the output, so there is no padding. A work-group of 16 x 16 items
// computes as many pixels from a tile in local memory; the filter is small enough for constant memory.
#define FILTER 9
#define BLOCK_X 16
#define BLOCK_Y 16
#define PIXELS_X 1
#define PIXELS_Y 1
#define TILE_X (BLOCK_X * PIXELS_X)
#define TILE_Y (BLOCK_Y * PIXELS_Y)

__kernel void convolution(__global float* restrict out, const __global float* restrict input, __constant float* filter,
                          const int height, const int width) {
  __local float tile[TILE_Y + FILTER - 1][TILE_X + FILTER - 1];

  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int first_x = get_group_id(0) * TILE_X;
  const int first_y = get_group_id(1) * TILE_Y;
  const int pitch = width + FILTER - 1;

  for (int i = y; i < TILE_Y + FILTER - 1; i += BLOCK_Y) {
    for (int j = x; j < TILE_X + FILTER - 1; j += BLOCK_X) {
      const bool inside = first_y + i < height + FILTER - 1 && first_x + j < pitch;
      tile[i][j] = inside ? input[(first_y + i) * pitch + first_x + j] : 0.0f;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  float sums[PIXELS_Y][PIXELS_X];
#pragma unroll
  for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
    for (int q = 0; q < PIXELS_X; ++q) sums[p][q] = 0.0f;
  }
  for (int i = 0; i < FILTER; ++i) {
#pragma unroll
    for (int j = 0; j < FILTER; ++j) {
      const float tap = filter[i * FILTER + j];
#pragma unroll
      for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
        for (int q = 0; q < PIXELS_X; ++q) sums[p][q] += tile[p * BLOCK_Y + y + i][q * BLOCK_X + x + j] * tap;
      }
    }
  }

#pragma unroll
  for (int p = 0; p < PIXELS_Y; ++p) {
#pragma unroll
    for (int q = 0; q < PIXELS_X; ++q) {
      const int row = first_y + p * BLOCK_Y + y;
      const int col = first_x + q * BLOCK_X + x;
      if (row < height && col < width) out[row * width + col] = sums[p][q];
    }
  }
}
