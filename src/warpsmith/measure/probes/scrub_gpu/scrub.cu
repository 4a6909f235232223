// Overwrites what a launch may find of the launches before it: all the shared memory that a block may have (SHARED_BYTES), or so
// much of each thread's stack (STACK_BYTES). Blocks wait a little until there is one on each unit, so that none is left out.

extern "C" __global__ void scrub(unsigned* arrived, const unsigned noise, const unsigned units) {
  unsigned kept = 0;
#if SHARED_BYTES
  extern __shared__ unsigned long long words[];
  volatile unsigned long long* shared_words = words;
  for (unsigned i = threadIdx.x; i < SHARED_BYTES / 8; i += blockDim.x) shared_words[i] = noise * (i + 1ull);
#endif
#if STACK_BYTES
  volatile unsigned long long stack[STACK_BYTES / 8];
#pragma unroll 16
  for (unsigned i = 0; i < STACK_BYTES / 8; ++i) stack[i] = noise * (threadIdx.x + i + 1ull);
  kept = (unsigned)stack[noise % (STACK_BYTES / 8)];
#endif
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    for (int turn = 0; turn < TURNS && atomicOr(arrived, 0u) < units; ++turn) {}
  }
  __syncthreads();
  if (kept == 1) arrived[1] = kept;
}
