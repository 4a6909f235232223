// HIP's names for the same functions.
#pragma once

#include "cuComplex.h"

typedef cuFloatComplex hipFloatComplex;
typedef cuDoubleComplex hipDoubleComplex;
typedef hipFloatComplex hipComplex;

#define WARPSMITH_HIP_COMPLEX(C, F, f, make, cu_make)                                              \
  WARPSMITH_FN C make(F x, F y) { return cu_make(x, y); }                                          \
  WARPSMITH_FN F hipCreal##f(C z) { return z.x; }                                                  \
  WARPSMITH_FN F hipCimag##f(C z) { return z.y; }                                                  \
  WARPSMITH_FN F hipCsqabs##f(C z) { return z.x * z.x + z.y * z.y; }                               \
  WARPSMITH_FN F hipCabs##f(C z) { return cuCabs##f(z); }                                          \
  WARPSMITH_FN C hipConj##f(C z) { return cuConj##f(z); }                                          \
  WARPSMITH_FN C hipCadd##f(C a, C b) { return cuCadd##f(a, b); }                                  \
  WARPSMITH_FN C hipCsub##f(C a, C b) { return cuCsub##f(a, b); }                                  \
  WARPSMITH_FN C hipCmul##f(C a, C b) { return cuCmul##f(a, b); }                                  \
  WARPSMITH_FN C hipCdiv##f(C a, C b) { return cuCdiv##f(a, b); }                                  \
  WARPSMITH_FN C hipCfma##f(C a, C b, C c) { return cuCfma##f(a, b, c); }
WARPSMITH_HIP_COMPLEX(hipFloatComplex, float, f, make_hipFloatComplex, make_cuFloatComplex)
WARPSMITH_HIP_COMPLEX(hipDoubleComplex, double, , make_hipDoubleComplex, make_cuDoubleComplex)
#undef WARPSMITH_HIP_COMPLEX
WARPSMITH_FN hipComplex make_hipComplex(float x, float y) { return {x, y}; }
