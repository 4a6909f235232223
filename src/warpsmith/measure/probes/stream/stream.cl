// The memory roof: moves the same bytes in the same mix of reads and writes as the kernel under test, and does nothing else.
// STREAMS arrays of n floats are only read. MODE: 0 nothing else, 1 another array is only written, 2 another is updated in place.
// A block moves `steps` x its size, without a remainder: a bound for each lane would turn the stores into slow masked ones.

kernel void stream(global const float* restrict in, global float* restrict out, const int n, const int steps) {
  const int width = (int)get_local_size(0);
  const int begin = (int)get_group_id(0) * steps * width + (int)get_local_id(0);
#if MODE == 0
  float sum = 0.0f;
#endif
  for (int step = 0; step < steps; ++step) {
    const int i = begin + step * width;
#if MODE == 0
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) sum += in[(size_t)s * n + i];
#else
    float value = MODE == 2 ? out[i] : 1.0f;
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) value += in[(size_t)s * n + i];
    out[i] = MODE == 2 ? 0.5f * value : value;
#endif
  }
#if MODE == 0
  out[get_global_id(0)] = sum;
#endif
}
