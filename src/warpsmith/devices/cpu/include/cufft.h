// The types of cuFFT's data, which kernels between two transforms work on. The transforms are the host's.
#pragma once

#include "cuComplex.h"

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
