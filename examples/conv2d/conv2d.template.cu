// conv2d with its execution choices made explicit. With every parameter at its default the preprocessed tokens are those of
// conv2d.cu.
#ifndef TILE_X       // columns of pixels per block
#define TILE_X 32
#endif
#ifndef TILE_Y       // rows of pixels per block
#define TILE_Y 8
#endif
#ifndef PIXELS       // pixels per thread, along y
#define PIXELS 1
#endif
#ifndef OUTPUTS      // output channels per thread
#define OUTPUTS 4
#endif
#ifndef CHANNELS     // input channels staged at a time: fewer barriers for more shared memory
#define CHANNELS 1
#endif
#ifndef TAPS         // 0: weights in registers before use · 1: weights read where they are used
#define TAPS 0
#endif

#include <stdint.h>

constexpr int kTileX = TILE_X;
constexpr int kTileY = TILE_Y;
constexpr int kPixels = PIXELS;  // per thread, along y
constexpr int kOutputs = OUTPUTS;
constexpr int kThreadsY = kTileY / kPixels;

__global__ void __launch_bounds__(kTileX* kThreadsY) conv2d_kernel(float* __restrict__ out, const float* __restrict__ input,
                                                                   const float* __restrict__ weight, int channels_in,
                                                                   int channels_out, int height, int width) {
#if CHANNELS == 1
  __shared__ float tile[kTileY + 2][kTileX + 2];
#else
  __shared__ float tiles[CHANNELS][kTileY + 2][kTileX + 2];
#endif

  const int first_x = blockIdx.x * kTileX;
  const int first_y = blockIdx.y * kTileY;
  const int first_out = blockIdx.z * kOutputs;
  float sums[kPixels][kOutputs] = {};

#if CHANNELS == 1
  for (int channel = 0; channel < channels_in; ++channel) {
#else
  for (int first_channel = 0; first_channel < channels_in; first_channel += CHANNELS) {
    const int channels_here = min(CHANNELS, channels_in - first_channel);
    for (int c = 0; c < channels_here; ++c) {
      const int channel = first_channel + c;
      float(&tile)[kTileY + 2][kTileX + 2] = tiles[c];
#endif
    const float* image = input + static_cast<int64_t>(channel) * height * width;
    for (int ty = threadIdx.y; ty < kTileY + 2; ty += kThreadsY) {
      for (int tx = threadIdx.x; tx < kTileX + 2; tx += kTileX) {
        const int y = first_y + ty - 1;
        const int x = first_x + tx - 1;
        tile[ty][tx] = y >= 0 && y < height && x >= 0 && x < width ? image[y * width + x] : 0.0f;
      }
    }
#if CHANNELS > 1
    }
#endif
    __syncthreads();

#if CHANNELS > 1
    for (int c = 0; c < channels_here; ++c) {
      const int channel = first_channel + c;
      const float(&tile)[kTileY + 2][kTileX + 2] = tiles[c];
#endif
#if TAPS == 0
    float taps[kOutputs][9];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const float* filter = weight + (static_cast<int64_t>(min(first_out + o, channels_out - 1)) * channels_in + channel) * 9;
#pragma unroll
      for (int t = 0; t < 9; ++t) taps[o][t] = __ldg(filter + t);
    }
#else
    const float* filters[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      filters[o] = weight + (static_cast<int64_t>(min(first_out + o, channels_out - 1)) * channels_in + channel) * 9;
    }
#endif
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
#pragma unroll
      for (int t = 0; t < 9; ++t) {
        const float value = tile[threadIdx.y * kPixels + p + t / 3][threadIdx.x + t % 3];
#pragma unroll
#if TAPS == 0
        for (int o = 0; o < kOutputs; ++o) sums[p][o] += taps[o][t] * value;
#else
        for (int o = 0; o < kOutputs; ++o) sums[p][o] += __ldg(filters[o] + t) * value;
#endif
      }
    }
#if CHANNELS > 1
    }
#endif
    __syncthreads();
  }

#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const int y = first_y + threadIdx.y * kPixels + p;
    const int x = first_x + threadIdx.x;
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      if (y < height && x < width && first_out + o < channels_out) {
        out[(static_cast<int64_t>(first_out + o) * height + y) * width + x] = sums[p][o];
      }
    }
  }
}
