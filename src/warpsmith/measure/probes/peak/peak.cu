// The compute roof on GPUs: as peak.cl.

extern "C" __global__ void peak(float* __restrict__ out, const int iterations) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  const float scale = 0.999f, offset = 1e-3f;
  float chain[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) chain[c] = (float)item + c;
#pragma unroll 4
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) chain[c] = fmaf(chain[c], scale, offset);
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) sum += chain[c];
  out[item] = sum;
}
