// The C math API, as CUDA has it: `sqrtf`, and `sqrt` overloaded for float, double and integers, in the global namespace.
//
// The functions are OpenCL.std's, which the runtime vectorises. Only what that library lacks is computed here.
#pragma once

#define WARPSMITH_INTEGRAL template <class T> requires(__warpsmith::is_integer<T>)

// name(float), name(double), namef(float), and name(integer) in double.
#define WARPSMITH_UNARY(name, expression)                                     \
  WARPSMITH_FN float name##f(float x) { return expression; }                  \
  WARPSMITH_FN float name(float x) { return expression; }                     \
  WARPSMITH_FN double name(double x) { return expression; }                   \
  WARPSMITH_INTEGRAL WARPSMITH_FN double name(T x) { return name((double)x); }
#define WARPSMITH_UNARY_OCL(name) WARPSMITH_UNARY(name, __spirv_ocl_##name(x))

WARPSMITH_UNARY_OCL(acos) WARPSMITH_UNARY_OCL(acosh) WARPSMITH_UNARY_OCL(asin) WARPSMITH_UNARY_OCL(asinh) WARPSMITH_UNARY_OCL(atan)
WARPSMITH_UNARY_OCL(atanh) WARPSMITH_UNARY_OCL(cbrt) WARPSMITH_UNARY_OCL(cos) WARPSMITH_UNARY_OCL(cosh) WARPSMITH_UNARY_OCL(cospi)
WARPSMITH_UNARY_OCL(erf) WARPSMITH_UNARY_OCL(erfc) WARPSMITH_UNARY_OCL(exp) WARPSMITH_UNARY_OCL(exp2) WARPSMITH_UNARY_OCL(exp10)
WARPSMITH_UNARY_OCL(expm1) WARPSMITH_UNARY_OCL(lgamma) WARPSMITH_UNARY_OCL(log) WARPSMITH_UNARY_OCL(log2) WARPSMITH_UNARY_OCL(log10)
WARPSMITH_UNARY_OCL(log1p) WARPSMITH_UNARY_OCL(logb) WARPSMITH_UNARY_OCL(rint) WARPSMITH_UNARY_OCL(round) WARPSMITH_UNARY_OCL(rsqrt)
WARPSMITH_UNARY_OCL(sin) WARPSMITH_UNARY_OCL(sinh) WARPSMITH_UNARY_OCL(sinpi) WARPSMITH_UNARY_OCL(tan) WARPSMITH_UNARY_OCL(tanh)
WARPSMITH_UNARY_OCL(tgamma)
WARPSMITH_UNARY(nearbyint, __spirv_ocl_rint(x))
WARPSMITH_UNARY(sqrt, __builtin_elementwise_sqrt(x))
WARPSMITH_UNARY(ceil, __builtin_elementwise_ceil(x))
WARPSMITH_UNARY(floor, __builtin_elementwise_floor(x))
WARPSMITH_UNARY(trunc, __builtin_elementwise_trunc(x))
WARPSMITH_UNARY(fabs, __builtin_elementwise_abs(x))
WARPSMITH_UNARY(rcbrt, 1 / __spirv_ocl_cbrt(x))

// name(float, float), name(double, double), namef; any other mix of arithmetic types in double.
#define WARPSMITH_BINARY(name)                                                                                     \
  WARPSMITH_FN float name##f(float x, float y) { return __spirv_ocl_##name(x, y); }                                \
  WARPSMITH_FN float name(float x, float y) { return __spirv_ocl_##name(x, y); }                                   \
  WARPSMITH_FN double name(double x, double y) { return __spirv_ocl_##name(x, y); }                                \
  template <class A, class B>                                                                                      \
    requires(__warpsmith::is_arithmetic<A> && __warpsmith::is_arithmetic<B>)                                       \
  WARPSMITH_FN double name(A x, B y) { return __spirv_ocl_##name((double)x, (double)y); }
WARPSMITH_BINARY(atan2) WARPSMITH_BINARY(copysign) WARPSMITH_BINARY(fdim) WARPSMITH_BINARY(fmax) WARPSMITH_BINARY(fmin)
WARPSMITH_BINARY(fmod) WARPSMITH_BINARY(hypot) WARPSMITH_BINARY(nextafter) WARPSMITH_BINARY(pow) WARPSMITH_BINARY(remainder)
#undef WARPSMITH_BINARY

WARPSMITH_FN float fmaf(float x, float y, float z) { return __spirv_ocl_fma(x, y, z); }
WARPSMITH_FN float fma(float x, float y, float z) { return __spirv_ocl_fma(x, y, z); }
WARPSMITH_FN double fma(double x, double y, double z) { return __spirv_ocl_fma(x, y, z); }
template <class A, class B, class C>
  requires(__warpsmith::is_arithmetic<A> && __warpsmith::is_arithmetic<B> && __warpsmith::is_arithmetic<C>)
WARPSMITH_FN double fma(A x, B y, C z) { return __spirv_ocl_fma((double)x, (double)y, (double)z); }

#define WARPSMITH_SCALE(name, N)                                                                       \
  WARPSMITH_FN float name##f(float x, N n) { return __spirv_ocl_ldexp(x, (int)n); }                    \
  WARPSMITH_FN float name(float x, N n) { return __spirv_ocl_ldexp(x, (int)n); }                       \
  WARPSMITH_FN double name(double x, N n) { return __spirv_ocl_ldexp(x, (int)n); }                     \
  WARPSMITH_INTEGRAL WARPSMITH_FN double name(T x, N n) { return __spirv_ocl_ldexp((double)x, (int)n); }
WARPSMITH_SCALE(ldexp, int) WARPSMITH_SCALE(scalbn, int) WARPSMITH_SCALE(scalbln, long)
#undef WARPSMITH_SCALE

// Classification; each is a comparison, so that it vectorises.
#define WARPSMITH_CLASSIFY(name, expression)                                                       \
  WARPSMITH_FN bool name(float x) { return expression; }                                 \
  WARPSMITH_FN bool name(double x) { return expression; }                                \
  WARPSMITH_INTEGRAL WARPSMITH_FN bool name(T x) { return name((double)x); }
WARPSMITH_CLASSIFY(isnan, x != x)
WARPSMITH_CLASSIFY(isinf, (x < 0 ? -x : x) == __builtin_inff())
WARPSMITH_CLASSIFY(isfinite, (x < 0 ? -x : x) < __builtin_inff())
WARPSMITH_CLASSIFY(signbit, (__warpsmith::bit_cast<__warpsmith::bits<decltype(x)>>(x) >> (8 * sizeof(x) - 1)) != 0)
#undef WARPSMITH_CLASSIFY
WARPSMITH_FN bool isnormal(float x) { return isfinite(x) && fabsf(x) >= __FLT_MIN__; }
WARPSMITH_FN bool isnormal(double x) { return isfinite(x) && fabs(x) >= __DBL_MIN__; }
WARPSMITH_FN bool isunordered(double x, double y) { return x != x || y != y; }
WARPSMITH_FN int __finitef(float x) { return isfinite(x); }
WARPSMITH_FN int __isnanf(float x) { return isnan(x); }
WARPSMITH_FN int __isinff(float x) { return isinf(x); }
WARPSMITH_FN float nanf(const char*) { return __builtin_nanf(""); }
WARPSMITH_FN double nan(const char*) { return __builtin_nan(""); }

// To integers; out-of-range values saturate, as the GPU's conversions do.
#define WARPSMITH_TO_INTEGER(name, R, rounding)                                    \
  WARPSMITH_FN R name##f(float x) { return (R)__spirv_ocl_##rounding(x); }         \
  WARPSMITH_FN R name(float x) { return (R)__spirv_ocl_##rounding(x); }            \
  WARPSMITH_FN R name(double x) { return (R)__spirv_ocl_##rounding(x); }
WARPSMITH_TO_INTEGER(lrint, long, rint) WARPSMITH_TO_INTEGER(llrint, long long, rint)
WARPSMITH_TO_INTEGER(lround, long, round) WARPSMITH_TO_INTEGER(llround, long long, round)
#undef WARPSMITH_TO_INTEGER
WARPSMITH_FN int ilogbf(float x) { return __spirv_ocl_ilogb(x); }
WARPSMITH_FN int ilogb(float x) { return __spirv_ocl_ilogb(x); }
WARPSMITH_FN int ilogb(double x) { return __spirv_ocl_ilogb(x); }

// Absolute value; the unsigned forms of the ternary are what LLVM knows as abs.
WARPSMITH_FN int abs(int x) { return x < 0 ? -x : x; }
WARPSMITH_FN long abs(long x) { return x < 0 ? -x : x; }
WARPSMITH_FN long long abs(long long x) { return x < 0 ? -x : x; }
WARPSMITH_FN float abs(float x) { return fabsf(x); }
WARPSMITH_FN double abs(double x) { return fabs(x); }
WARPSMITH_FN long labs(long x) { return abs(x); }
WARPSMITH_FN long long llabs(long long x) { return abs(x); }

// min and max: the overloads CUDA has. A NaN loses against a number.
#define WARPSMITH_MIN_MAX(R, A, B)                                                                   \
  WARPSMITH_FN R min(A x, B y) { return (R)x < (R)y ? (R)x : (R)y; }                       \
  WARPSMITH_FN R max(A x, B y) { return (R)x > (R)y ? (R)x : (R)y; }
WARPSMITH_MIN_MAX(int, int, int)
WARPSMITH_MIN_MAX(unsigned int, unsigned int, unsigned int)
WARPSMITH_MIN_MAX(unsigned int, int, unsigned int)
WARPSMITH_MIN_MAX(unsigned int, unsigned int, int)
WARPSMITH_MIN_MAX(long, long, long)
WARPSMITH_MIN_MAX(unsigned long, unsigned long, unsigned long)
WARPSMITH_MIN_MAX(unsigned long, long, unsigned long)
WARPSMITH_MIN_MAX(unsigned long, unsigned long, long)
WARPSMITH_MIN_MAX(long long, long long, long long)
WARPSMITH_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WARPSMITH_MIN_MAX(unsigned long long, long long, unsigned long long)
WARPSMITH_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef WARPSMITH_MIN_MAX
WARPSMITH_FN float min(float x, float y) { return fminf(x, y); }
WARPSMITH_FN float max(float x, float y) { return fmaxf(x, y); }
WARPSMITH_FN double min(double x, double y) { return fmin(x, y); }
WARPSMITH_FN double max(double x, double y) { return fmax(x, y); }
WARPSMITH_FN double min(float x, double y) { return fmin((double)x, y); }
WARPSMITH_FN double max(float x, double y) { return fmax((double)x, y); }
WARPSMITH_FN double min(double x, float y) { return fmin(x, (double)y); }
WARPSMITH_FN double max(double x, float y) { return fmax(x, (double)y); }
WARPSMITH_FN unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
WARPSMITH_FN unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
WARPSMITH_FN long long llmin(long long x, long long y) { return min(x, y); }
WARPSMITH_FN long long llmax(long long x, long long y) { return max(x, y); }
WARPSMITH_FN unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
WARPSMITH_FN unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }
