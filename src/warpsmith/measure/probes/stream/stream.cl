// The memory roof: moves the same bytes in the same mix of reads and writes as the kernel under test, and does nothing else.
// STREAMS arrays of n floats are read (0: none); WRITES says whether a result of n floats is written.

kernel void stream(global const float* restrict in, global float* restrict out, const int n, const int chunk) {
  const int begin = get_group_id(0) * chunk;
  const int end = min(begin + chunk, n);
#if WRITES
  for (int i = begin + (int)get_local_id(0); i < end; i += (int)get_local_size(0)) {
    float value = 1.0f;
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) value += in[(size_t)s * n + i];
    out[i] = value;
  }
#else
  float sum = 0.0f;
  for (int i = begin + (int)get_local_id(0); i < end; i += (int)get_local_size(0)) sum += in[i];
  out[get_global_id(0)] = sum;
#endif
}
