// The memory roof: moves the same bytes in the same mix of reads and writes as the kernel under test, and does nothing else.
// STREAMS arrays of n floats are only read. MODE: 0 nothing else, 1 another array is only written, 2 another is updated in place.

kernel void stream(global const float* restrict in, global float* restrict out, const int n, const int chunk) {
  const int begin = get_group_id(0) * chunk;
  const int end = min(begin + chunk, n);
#if MODE == 0
  float sum = 0.0f;
  for (int i = begin + (int)get_local_id(0); i < end; i += (int)get_local_size(0)) {
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) sum += in[(size_t)s * n + i];
  }
  out[get_global_id(0)] = sum;
#else
  for (int i = begin + (int)get_local_id(0); i < end; i += (int)get_local_size(0)) {
    float value = MODE == 2 ? out[i] : 1.0f;
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) value += in[(size_t)s * n + i];
    out[i] = MODE == 2 ? 0.5f * value : value;
  }
#endif
}
