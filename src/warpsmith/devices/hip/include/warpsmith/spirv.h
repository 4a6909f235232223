// What the prelude is built on, for AMD GPUs: barriers, fences, the clock and math, under the names that the prelude calls.
#pragma once

namespace __warpsmith {
inline constexpr int scope_device = 1, scope_block = 2, scope_warp = 3;
inline constexpr int fence_all = 0;
}  // namespace __warpsmith

WARPSMITH_FN void __spirv_MemoryBarrier(int scope, int) {
  if (scope == __warpsmith::scope_block) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  else __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
}
WARPSMITH_FN unsigned long __spirv_ReadClockKHR(int) { return __builtin_readcyclecounter(); }

// The compiler lowers these itself.
#define WARPSMITH_BUILTIN_1(name)                                                       \
  WARPSMITH_FN float __spirv_ocl_##name(float x) { return __builtin_##name##f(x); }     \
  WARPSMITH_FN double __spirv_ocl_##name(double x) { return __builtin_##name(x); }
#define WARPSMITH_BUILTIN_2(name)                                                                 \
  WARPSMITH_FN float __spirv_ocl_##name(float x, float y) { return __builtin_##name##f(x, y); }   \
  WARPSMITH_FN double __spirv_ocl_##name(double x, double y) { return __builtin_##name(x, y); }
WARPSMITH_BUILTIN_1(rint) WARPSMITH_BUILTIN_1(round)
WARPSMITH_BUILTIN_2(copysign) WARPSMITH_BUILTIN_2(fmax) WARPSMITH_BUILTIN_2(fmin)
#undef WARPSMITH_BUILTIN_1
#undef WARPSMITH_BUILTIN_2
WARPSMITH_FN float __spirv_ocl_fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
WARPSMITH_FN double __spirv_ocl_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
WARPSMITH_FN float __spirv_ocl_ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
WARPSMITH_FN double __spirv_ocl_ldexp(double x, int n) { return __builtin_ldexp(x, n); }
WARPSMITH_FN float __spirv_ocl_native_exp2(float x) { return __builtin_amdgcn_exp2f(x); }
WARPSMITH_FN float __spirv_ocl_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }

// In single precision only; the double ones are the library's.
#define WARPSMITH_SINGLE(name)                                                                    \
  extern "C" __attribute__((device, const)) double __ocml_##name##_f64(double);                   \
  WARPSMITH_FN float __spirv_ocl_##name(float x) { return __builtin_##name##f(x); }               \
  WARPSMITH_DEVICE_FN double __spirv_ocl_##name(double x) { return __ocml_##name##_f64(x); }
WARPSMITH_SINGLE(exp) WARPSMITH_SINGLE(exp2) WARPSMITH_SINGLE(exp10) WARPSMITH_SINGLE(log) WARPSMITH_SINGLE(log2) WARPSMITH_SINGLE(log10)
#undef WARPSMITH_SINGLE

#define WARPSMITH_OCML_1(name)                                                                    \
  extern "C" __attribute__((device, const)) float __ocml_##name##_f32(float);                     \
  extern "C" __attribute__((device, const)) double __ocml_##name##_f64(double);                   \
  WARPSMITH_DEVICE_FN float __spirv_ocl_##name(float x) { return __ocml_##name##_f32(x); }        \
  WARPSMITH_DEVICE_FN double __spirv_ocl_##name(double x) { return __ocml_##name##_f64(x); }
#define WARPSMITH_OCML_2(name)                                                                              \
  extern "C" __attribute__((device, const)) float __ocml_##name##_f32(float, float);                        \
  extern "C" __attribute__((device, const)) double __ocml_##name##_f64(double, double);                     \
  WARPSMITH_DEVICE_FN float __spirv_ocl_##name(float x, float y) { return __ocml_##name##_f32(x, y); }      \
  WARPSMITH_DEVICE_FN double __spirv_ocl_##name(double x, double y) { return __ocml_##name##_f64(x, y); }
WARPSMITH_OCML_1(acos) WARPSMITH_OCML_1(acosh) WARPSMITH_OCML_1(asin) WARPSMITH_OCML_1(asinh) WARPSMITH_OCML_1(atan)
WARPSMITH_OCML_1(atanh) WARPSMITH_OCML_1(cbrt) WARPSMITH_OCML_1(cos) WARPSMITH_OCML_1(cosh) WARPSMITH_OCML_1(cospi)
WARPSMITH_OCML_1(erf) WARPSMITH_OCML_1(erfc) WARPSMITH_OCML_1(expm1) WARPSMITH_OCML_1(lgamma) WARPSMITH_OCML_1(log1p)
WARPSMITH_OCML_1(logb) WARPSMITH_OCML_1(sin) WARPSMITH_OCML_1(sinh) WARPSMITH_OCML_1(sinpi) WARPSMITH_OCML_1(tan)
WARPSMITH_OCML_1(tanh) WARPSMITH_OCML_1(tgamma)
WARPSMITH_OCML_2(atan2) WARPSMITH_OCML_2(fdim) WARPSMITH_OCML_2(fmod) WARPSMITH_OCML_2(hypot) WARPSMITH_OCML_2(nextafter)
WARPSMITH_OCML_2(pow) WARPSMITH_OCML_2(remainder)
#undef WARPSMITH_OCML_1
#undef WARPSMITH_OCML_2
extern "C" __attribute__((device, const)) double __ocml_rsqrt_f64(double);
WARPSMITH_DEVICE_FN double __spirv_ocl_rsqrt(double x) { return __ocml_rsqrt_f64(x); }
extern "C" __attribute__((device, const)) int __ocml_ilogb_f32(float);
extern "C" __attribute__((device, const)) int __ocml_ilogb_f64(double);
WARPSMITH_DEVICE_FN int __spirv_ocl_ilogb(float x) { return __ocml_ilogb_f32(x); }
WARPSMITH_DEVICE_FN int __spirv_ocl_ilogb(double x) { return __ocml_ilogb_f64(x); }
