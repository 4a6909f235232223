// Math functions beyond the C library's everyday ones: those with several results, norms, and CUDA's own statistics functions.
#pragma once

namespace __warpsmith {
template <class F> WARPSMITH_FN F modf(F x, F* whole) {
  *whole = trunc(x);
  return copysign(isinf(x) ? F(0) : x - *whole, x);
}

template <class F> WARPSMITH_FN F frexp(F x, int* exponent) {
  if (x == 0 || !isfinite(x)) {
    *exponent = 0;
    return x;
  }
  *exponent = ilogb(x) + 1;
  return ldexp(x, -*exponent);
}

template <class F> WARPSMITH_FN F remquo(F x, F y, int* quotient) {
  const F rest = remainder(x, y);
  const F whole = rint((x - rest) / y);
  // Only sign and low bits are asked for; fmod keeps a huge quotient inside the integer's range.
  *quotient = (int)fmod(whole, F(1 << 30));
  return rest;
}

// Scaled by the largest component, so that neither overflow nor underflow happens half-way.
template <class F, class... Rest> WARPSMITH_FN F norm_of(F first, Rest... rest) {
  F largest = fabs(first);
  ((largest = fmax(largest, fabs(rest))), ...);
  if (isinf(first) || (isinf(rest) || ...)) return F(__builtin_inff());
  if (largest == 0) return (first + ... + rest);
  const F scale = ldexp(F(1), -ilogb(largest));
  F sum = (first * scale) * (first * scale);
  ((sum += (rest * scale) * (rest * scale)), ...);
  return sqrt(sum) / scale;
}

template <class F> WARPSMITH_FN F norm_of_array(int count, const F* values) {
  F largest = 0;
  for (int i = 0; i < count; ++i) largest = fmax(largest, fabs(values[i]));
  if (largest == 0 || isinf(largest)) return largest;
  const F scale = ldexp(F(1), -ilogb(largest));
  F sum = 0;
  for (int i = 0; i < count; ++i) sum += (values[i] * scale) * (values[i] * scale);
  return sqrt(sum) / scale;
}

// Bessel functions of the first kind from their integrals over half a period. The trapezoid rule converges faster than any power of
// the number of points, once there are more of them than the integrand has turns.
WARPSMITH_FN double jn(int n, double x) {
  const int points = 32 + (n < 0 ? -n : n) + (int)fmin(fabs(x), 1e6);
  double sum = 0.5 + 0.5 * cospi((double)n);
  for (int i = 1; i < points; ++i) {
    const double t = (double)i / points;
    sum += cos(n * 3.14159265358979323846 * t - x * sinpi(t));
  }
  return sum / points;
}
WARPSMITH_FN double bessel_i(int n, double x) {
  const int points = 32 + (int)fmin(fabs(x), 1e3);
  double sum = 0.5 * (exp(x) + cospi((double)n) * exp(-x));
  for (int i = 1; i < points; ++i) {
    const double t = (double)i / points;
    sum += exp(x * cospi(t)) * cospi(n * t);
  }
  return sum / points;
}

// erfc(x) exp(x²). The continued fraction where erfc would underflow; elsewhere the product, with x² split to keep its rounding error.
WARPSMITH_FN double erfcx(double x) {
  if (x < 10) {
    const double square = x * x;
    const double low = fma(x, x, -square);
    const double high = exp(square);
    return erfc(x) * fma(high, low, high);
  }
  double tail = x;
  for (int k = 30; k > 0; --k) tail = x + 0.5 * k / tail;
  return 0.56418958354775628695 / tail;
}

// Starts from Winitzki's closed form and takes Newton steps on erf, or on erfc where erf has no digits left.
WARPSMITH_FN double erfinv(double x) {
  if (!(fabs(x) < 1)) return fabs(x) == 1 ? copysign((double)__builtin_inff(), x) : (double)__builtin_nanf("");
  const double a = 0.147, l = log1p(-x * x), t = 2 / (3.14159265358979323846 * a) + 0.5 * l;
  double y = copysign(sqrt(sqrt(t * t - l / a) - t), x);
  for (int step = 0; step < 4; ++step) {
    const double error = fabs(x) < 0.5 ? erf(y) - x : copysign(1.0, x) * ((1 - fabs(x)) - erfc(fabs(y)));
    y -= error / (1.12837916709551257390 * exp(-y * y) + 1e-300);
  }
  return y;
}

WARPSMITH_FN double erfcinv(double x) {
  if (x > 0.5) return erfinv(1 - x);
  if (!(x > 0)) return x == 0 ? (double)__builtin_inff() : (double)__builtin_nanf("");
  double y = sqrt(-log(x * 1.7724538509055160273 * sqrt(-log(x))));
  // Newton on log(erfc): nearly linear in the tail.
  for (int step = 0; step < 6; ++step) {
    const double scaled = erfcx(y);
    y += (log(scaled) - y * y - log(x)) * scaled / 1.12837916709551257390;
  }
  return y;
}

WARPSMITH_FN double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
WARPSMITH_FN double normcdfinv(double x) { return -1.4142135623730950488 * erfcinv(2 * x); }
}  // namespace __warpsmith

WARPSMITH_FN float modff(float x, float* whole) { return __warpsmith::modf(x, whole); }
WARPSMITH_FN float modf(float x, float* whole) { return __warpsmith::modf(x, whole); }
WARPSMITH_FN double modf(double x, double* whole) { return __warpsmith::modf(x, whole); }
WARPSMITH_FN float frexpf(float x, int* exponent) { return __warpsmith::frexp(x, exponent); }
WARPSMITH_FN float frexp(float x, int* exponent) { return __warpsmith::frexp(x, exponent); }
WARPSMITH_FN double frexp(double x, int* exponent) { return __warpsmith::frexp(x, exponent); }
WARPSMITH_FN float remquof(float x, float y, int* quotient) { return __warpsmith::remquo(x, y, quotient); }
WARPSMITH_FN float remquo(float x, float y, int* quotient) { return __warpsmith::remquo(x, y, quotient); }
WARPSMITH_FN double remquo(double x, double y, int* quotient) { return __warpsmith::remquo(x, y, quotient); }

WARPSMITH_FN void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
WARPSMITH_FN void sincos(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
WARPSMITH_FN void sincos(double x, double* sine, double* cosine) { *sine = sin(x), *cosine = cos(x); }
WARPSMITH_FN void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
WARPSMITH_FN void sincospi(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
WARPSMITH_FN void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }

WARPSMITH_FN float norm3df(float a, float b, float c) { return __warpsmith::norm_of(a, b, c); }
WARPSMITH_FN double norm3d(double a, double b, double c) { return __warpsmith::norm_of(a, b, c); }
WARPSMITH_FN float norm4df(float a, float b, float c, float d) { return __warpsmith::norm_of(a, b, c, d); }
WARPSMITH_FN double norm4d(double a, double b, double c, double d) { return __warpsmith::norm_of(a, b, c, d); }
WARPSMITH_FN float rhypotf(float a, float b) { return 1 / hypotf(a, b); }
WARPSMITH_FN double rhypot(double a, double b) { return 1 / hypot(a, b); }
WARPSMITH_FN float rnorm3df(float a, float b, float c) { return 1 / norm3df(a, b, c); }
WARPSMITH_FN double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
WARPSMITH_FN float rnorm4df(float a, float b, float c, float d) { return 1 / norm4df(a, b, c, d); }
WARPSMITH_FN double rnorm4d(double a, double b, double c, double d) { return 1 / norm4d(a, b, c, d); }

WARPSMITH_FN float normf(int count, const float* values) { return __warpsmith::norm_of_array(count, values); }
WARPSMITH_FN double norm(int count, const double* values) { return __warpsmith::norm_of_array(count, values); }
WARPSMITH_FN float rnormf(int count, const float* values) { return 1 / normf(count, values); }
WARPSMITH_FN double rnorm(int count, const double* values) { return 1 / norm(count, values); }

WARPSMITH_FN float jnf(int n, float x) { return (float)__warpsmith::jn(n, x); }
WARPSMITH_FN double jn(int n, double x) { return __warpsmith::jn(n, x); }
WARPSMITH_FN float j0f(float x) { return jnf(0, x); }
WARPSMITH_FN double j0(double x) { return jn(0, x); }
WARPSMITH_FN float j1f(float x) { return jnf(1, x); }
WARPSMITH_FN double j1(double x) { return jn(1, x); }
WARPSMITH_FN float cyl_bessel_i0f(float x) { return (float)__warpsmith::bessel_i(0, x); }
WARPSMITH_FN double cyl_bessel_i0(double x) { return __warpsmith::bessel_i(0, x); }
WARPSMITH_FN float cyl_bessel_i1f(float x) { return (float)__warpsmith::bessel_i(1, x); }
WARPSMITH_FN double cyl_bessel_i1(double x) { return __warpsmith::bessel_i(1, x); }

// The float forms go through double: they are rare, and one formula is enough.
#define WARPSMITH_THROUGH_DOUBLE(name)                                                          \
  WARPSMITH_FN float name##f(float x) { return (float)__warpsmith::name((double)x); }           \
  WARPSMITH_FN float name(float x) { return (float)__warpsmith::name((double)x); }              \
  WARPSMITH_FN double name(double x) { return __warpsmith::name(x); }
WARPSMITH_THROUGH_DOUBLE(erfcx) WARPSMITH_THROUGH_DOUBLE(erfinv) WARPSMITH_THROUGH_DOUBLE(erfcinv)
WARPSMITH_THROUGH_DOUBLE(normcdf) WARPSMITH_THROUGH_DOUBLE(normcdfinv)
#undef WARPSMITH_THROUGH_DOUBLE
