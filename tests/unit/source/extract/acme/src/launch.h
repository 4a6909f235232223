#pragma once

#include <cuda_runtime.h>

namespace acme::host {

inline cudaStream_t stream() { return nullptr; }

}  // namespace acme::host
