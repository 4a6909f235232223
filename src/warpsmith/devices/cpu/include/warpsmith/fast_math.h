// Intrinsics with a fixed or relaxed rounding: __expf and friends, __fadd_rn …, __saturatef.
//
// The fast ones are the accurate functions: the runtime's `native_` variants are no faster once vectorised and promise no accuracy.
#pragma once

WARPSMITH_FN float __expf(float x) { return expf(x); }
WARPSMITH_FN float __exp2f(float x) { return exp2f(x); }
WARPSMITH_FN float __exp10f(float x) { return exp10f(x); }
WARPSMITH_FN float __logf(float x) { return logf(x); }
WARPSMITH_FN float __log2f(float x) { return log2f(x); }
WARPSMITH_FN float __log10f(float x) { return log10f(x); }
WARPSMITH_FN float __sinf(float x) { return sinf(x); }
WARPSMITH_FN float __cosf(float x) { return cosf(x); }
WARPSMITH_FN float __tanf(float x) { return tanf(x); }
WARPSMITH_FN float __tanhf(float x) { return tanhf(x); }
WARPSMITH_FN float __powf(float x, float y) { return powf(x, y); }
WARPSMITH_FN void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
WARPSMITH_FN float __fdividef(float x, float y) { return x / y; }
WARPSMITH_FN float fdividef(float x, float y) { return x / y; }
WARPSMITH_FN double fdivide(double x, double y) { return x / y; }
// NaN becomes 0, as on the GPU: fmax prefers the number.
WARPSMITH_FN float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// Round to nearest, never contracted into a multiply-add.
#pragma clang fp contract(off)
#define WARPSMITH_ARITHMETIC(prefix, F)                                                   \
  WARPSMITH_FN F __##prefix##add_rn(F x, F y) { return x + y; }                           \
  WARPSMITH_FN F __##prefix##sub_rn(F x, F y) { return x - y; }                           \
  WARPSMITH_FN F __##prefix##mul_rn(F x, F y) { return x * y; }
WARPSMITH_ARITHMETIC(f, float)
WARPSMITH_ARITHMETIC(d, double)
#undef WARPSMITH_ARITHMETIC
#pragma clang fp contract(on)

WARPSMITH_FN float __fdiv_rn(float x, float y) { return x / y; }
WARPSMITH_FN float __frcp_rn(float x) { return 1.0f / x; }
WARPSMITH_FN float __fsqrt_rn(float x) { return sqrtf(x); }
WARPSMITH_FN float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
WARPSMITH_FN float __fmaf_ieee_rn(float x, float y, float z) { return fmaf(x, y, z); }
// Correctly rounded: a float's reciprocal square root in double has 29 digits to spare.
WARPSMITH_FN float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
WARPSMITH_FN double __ddiv_rn(double x, double y) { return x / y; }
WARPSMITH_FN double __drcp_rn(double x) { return 1.0 / x; }
WARPSMITH_FN double __dsqrt_rn(double x) { return sqrt(x); }
WARPSMITH_FN double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

namespace __warpsmith {
// Directed rounding of a float result, from its value in double. The double sum of two floats may itself be rounded; then `low` is what
// is missing, and its sign decides when the double happens to be a float already.
enum class rounding { down, up, zero };

WARPSMITH_FN float round_directed(double value, double low, rounding mode) {
  float near = (float)value;
  const double rest = (value - (double)near) + low;  // > 0: the true value is above `near`
  if (mode == rounding::zero) mode = value > 0 ? rounding::down : rounding::up;
  if (isnan(near)) return near;
  if (isinf(near) && !isinf(value)) return (near > 0) == (mode == rounding::down) ? copysignf(__FLT_MAX__, near) : near;
  if (mode == rounding::down && rest < 0) return nextafterf(near, -__builtin_inff());
  if (mode == rounding::up && rest > 0) return nextafterf(near, __builtin_inff());
  return near;
}
WARPSMITH_FN float add_directed(float x, float y, rounding mode) {
  const double a = x, b = y, sum = a + b, shadow = sum - a;
  const double low = isfinite(sum) ? (a - (sum - shadow)) + (b - shadow) : 0.0;
  if (sum == 0 && low == 0 && x == -y && x != 0) return mode == rounding::down ? -0.0f : 0.0f;
  return round_directed(sum, low, mode);
}
// A product of floats is exact in double.
WARPSMITH_FN float mul_directed(float x, float y, rounding mode) { return round_directed((double)x * (double)y, 0.0, mode); }
WARPSMITH_FN float fma_directed(float x, float y, float z, rounding mode) {
  const double a = (double)x * (double)y, b = z, sum = a + b, shadow = sum - a;
  const double low = isfinite(sum) ? (a - (sum - shadow)) + (b - shadow) : 0.0;
  return round_directed(sum, low, mode);
}
WARPSMITH_FN float div_directed(float x, float y, rounding mode) {
  const double quotient = (double)x / (double)y;
  const double rest = isfinite(quotient) ? fma(-quotient, (double)y, (double)x) / (double)y : 0.0;
  return round_directed(quotient, rest, mode);
}
WARPSMITH_FN float sqrt_directed(float x, rounding mode) {
  const double root = sqrt((double)x);
  const double rest = isfinite(root) && root > 0 ? fma(-root, root, (double)x) / (2 * root) : 0.0;
  return round_directed(root, rest, mode);
}
}  // namespace __warpsmith

#define WARPSMITH_DIRECTED(suffix, mode)                                                                               \
  WARPSMITH_FN float __fadd_##suffix(float x, float y) { return __warpsmith::add_directed(x, y, __warpsmith::rounding::mode); }   \
  WARPSMITH_FN float __fsub_##suffix(float x, float y) { return __warpsmith::add_directed(x, -y, __warpsmith::rounding::mode); }  \
  WARPSMITH_FN float __fmul_##suffix(float x, float y) { return __warpsmith::mul_directed(x, y, __warpsmith::rounding::mode); }   \
  WARPSMITH_FN float __fdiv_##suffix(float x, float y) { return __warpsmith::div_directed(x, y, __warpsmith::rounding::mode); }   \
  WARPSMITH_FN float __frcp_##suffix(float x) { return __warpsmith::div_directed(1.0f, x, __warpsmith::rounding::mode); }         \
  WARPSMITH_FN float __fsqrt_##suffix(float x) { return __warpsmith::sqrt_directed(x, __warpsmith::rounding::mode); }             \
  WARPSMITH_FN float __fmaf_##suffix(float x, float y, float z) { return __warpsmith::fma_directed(x, y, z, __warpsmith::rounding::mode); }
WARPSMITH_DIRECTED(rd, down) WARPSMITH_DIRECTED(ru, up) WARPSMITH_DIRECTED(rz, zero)
#undef WARPSMITH_DIRECTED
