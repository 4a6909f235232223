#include <acme/config.h>

namespace acme::first {
__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
}  // namespace acme::first

namespace acme::second {
__global__ void fill(float* out) { out[threadIdx.x] = 2.0f; }
}  // namespace acme::second

#if ACME_EXTRA > 1
__global__ void hidden(float* out) { out[0] = 0.0f; }
#endif
