#include <acme/vec.cuh>

#include "launch.h"

namespace acme {

namespace {

constexpr int kBlock = 128;

struct ScaleParams {
  const float* __restrict__ input;  // [n]
  float* __restrict__ output;       // [n]
  float factor;
  int n;
};

/// \brief Scales, after squaring if asked to.
template <typename T, Mode kMode>
__global__ void scale_kernel(T* __restrict__ out, const T* __restrict__ in, float factor, int n) {
  using namespace math;
  using namespace host;
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= n) return;
  float value = static_cast<float>(in[i]);
  if constexpr (kMode == SQUARED) value = square(value);
  out[i] = static_cast<T>(value * factor + twice_of(0.0f) * ACME_WIDE);
}

// Two values a thread.
__global__ void packed_scale_kernel(const __grid_constant__ ScaleParams params) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (2 * i + 1 >= params.n) return;
  Vec<float, 2> value = reinterpret_cast<const Vec<float, 2>*>(params.input)[i];
  value = value + value;
  reinterpret_cast<Vec<float, 2>*>(params.output)[i] = value;
}

}  // namespace

void scale(torch::Tensor out, torch::Tensor in, float factor) {
  ACME_CHECK(out.numel() == in.numel());
  const int n = static_cast<int>(in.numel());
  scale_kernel<float, SQUARED><<<math::round_up(n, kBlock) / kBlock, kBlock>>>(out.data_ptr<float>(), in.data_ptr<float>(), factor, n);
}

template __global__ void scale_kernel<float, PLAIN>(float* __restrict__, const float* __restrict__, float, int);

}  // namespace acme
