// thrust::complex, the one part of thrust that kernels themselves compute with.
#pragma once

#include "warpsmith/complex.h"

namespace thrust {
using std::abs; using std::arg; using std::complex; using std::conj; using std::cos; using std::cosh; using std::exp; using std::log;
using std::norm; using std::polar; using std::pow; using std::sin; using std::sinh; using std::sqrt;
}  // namespace thrust
