// The memory roof on GPUs: as stream.cl, in accesses of VEC floats. Whole blocks and whole vectors, so nothing is bounded.

#if VEC == 4
typedef float4 Vector;
__device__ Vector operator+(Vector a, Vector b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ Vector scaled(float by, Vector a) { return make_float4(by * a.x, by * a.y, by * a.z, by * a.w); }
__device__ Vector filled(float with) { return make_float4(with, with, with, with); }
__device__ float sum_of(Vector a) { return a.x + a.y + a.z + a.w; }
#else
typedef float Vector;
__device__ Vector scaled(float by, Vector a) { return by * a; }
__device__ Vector filled(float with) { return with; }
__device__ float sum_of(Vector a) { return a; }
#endif

extern "C" __global__ void stream(const float* __restrict__ in, float* __restrict__ out, const int n, const int steps) {
  const Vector* from = reinterpret_cast<const Vector*>(in);
  const int width = blockDim.x, vectors = n / VEC;
  const int begin = blockIdx.x * (steps / VEC) * width + threadIdx.x;
#if MODE == 0
  Vector sum = filled(0.0f);
#else
  Vector* to = reinterpret_cast<Vector*>(out);
#endif
#pragma unroll 4
  for (int step = 0; step < steps / VEC; ++step) {
    const int i = begin + step * width;
#if MODE == 0
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) sum = sum + from[(size_t)s * vectors + i];
#else
    Vector value = MODE == 2 ? to[i] : filled(1.0f);
#pragma unroll
    for (int s = 0; s < STREAMS; ++s) value = value + from[(size_t)s * vectors + i];
    to[i] = MODE == 2 ? scaled(0.5f, value) : value;
#endif
  }
#if MODE == 0
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of(sum);
#endif
}
