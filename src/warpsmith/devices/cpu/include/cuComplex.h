// CUDA's C functions on complex numbers.
#pragma once

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define WARPSMITH_CU_COMPLEX(C, F, f, make, hypotenuse)                                                        \
  WARPSMITH_FN C make(F x, F y) { return {x, y}; }                                                             \
  WARPSMITH_FN F cuCreal##f(C z) { return z.x; }                                                               \
  WARPSMITH_FN F cuCimag##f(C z) { return z.y; }                                                               \
  WARPSMITH_FN C cuConj##f(C z) { return {z.x, -z.y}; }                                                        \
  WARPSMITH_FN C cuCadd##f(C a, C b) { return {a.x + b.x, a.y + b.y}; }                                        \
  WARPSMITH_FN C cuCsub##f(C a, C b) { return {a.x - b.x, a.y - b.y}; }                                        \
  WARPSMITH_FN C cuCmul##f(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }                \
  WARPSMITH_FN C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }                            \
  WARPSMITH_FN F cuCabs##f(C z) { return hypotenuse(z.x, z.y); }                                               \
  WARPSMITH_FN C cuCdiv##f(C a, C b) {                                                                         \
    const F scale = (F)1 / (fabs(b.x) + fabs(b.y));                                                            \
    const F x = a.x * scale, y = a.y * scale, c = b.x * scale, d = b.y * scale, size = (F)1 / (c * c + d * d); \
    return {(x * c + y * d) * size, (y * c - x * d) * size};                                                   \
  }
WARPSMITH_CU_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, hypotf)
WARPSMITH_CU_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, hypot)
#undef WARPSMITH_CU_COMPLEX
WARPSMITH_FN cuComplex make_cuComplex(float x, float y) { return {x, y}; }
WARPSMITH_FN cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
WARPSMITH_FN cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return {(float)z.x, (float)z.y}; }
