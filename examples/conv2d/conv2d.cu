// A 3 x 3 convolution over an image of many channels, stride 1, zero padding 1:
//   out[o, y, x] = sum over i, dy, dx of weight[o, i, dy, dx] * input[i, y + dy - 1, x + dx - 1]
//
// A block computes a 32 x 8 tile of four output channels, one pixel of each per thread. For every input channel the tile and its
// border are staged in shared memory; weights are the same for the whole block and come through the read-only cache.
#include <stdint.h>

constexpr int kTileX = 32;
constexpr int kTileY = 8;
constexpr int kPixels = 1;  // per thread, along y
constexpr int kOutputs = 4;
constexpr int kThreadsY = kTileY / kPixels;

__global__ void __launch_bounds__(kTileX* kThreadsY) conv2d_kernel(float* __restrict__ out, const float* __restrict__ input,
                                                                   const float* __restrict__ weight, int channels_in,
                                                                   int channels_out, int height, int width) {
  __shared__ float tile[kTileY + 2][kTileX + 2];

  const int first_x = blockIdx.x * kTileX;
  const int first_y = blockIdx.y * kTileY;
  const int first_out = blockIdx.z * kOutputs;
  float sums[kPixels][kOutputs] = {};

  for (int channel = 0; channel < channels_in; ++channel) {
    const float* image = input + static_cast<int64_t>(channel) * height * width;
    for (int ty = threadIdx.y; ty < kTileY + 2; ty += kThreadsY) {
      for (int tx = threadIdx.x; tx < kTileX + 2; tx += kTileX) {
        const int y = first_y + ty - 1;
        const int x = first_x + tx - 1;
        tile[ty][tx] = y >= 0 && y < height && x >= 0 && x < width ? image[y * width + x] : 0.0f;
      }
    }
    __syncthreads();

    float taps[kOutputs][9];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const float* filter = weight + (static_cast<int64_t>(min(first_out + o, channels_out - 1)) * channels_in + channel) * 9;
#pragma unroll
      for (int t = 0; t < 9; ++t) taps[o][t] = __ldg(filter + t);
    }
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
#pragma unroll
      for (int t = 0; t < 9; ++t) {
        const float value = tile[threadIdx.y * kPixels + p + t / 3][threadIdx.x + t % 3];
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) sums[p][o] += taps[o][t] * value;
      }
    }
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
