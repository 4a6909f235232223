// The compute roof: independent chains of fused multiply-adds in registers, enough of them to hide their latency.

kernel void peak(global float* restrict out, const int iterations) {
  const float scale = 0.999f, offset = 1e-3f;
  float chain[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) chain[c] = (float)get_global_id(0) + c;
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) chain[c] = fma(chain[c], scale, offset);
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) sum += chain[c];
  out[get_global_id(0)] = sum;
}
