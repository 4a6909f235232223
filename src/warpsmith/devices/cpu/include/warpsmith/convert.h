// Conversions with a named rounding, and reinterpretation of bits.
//
// To integers they saturate, and NaN becomes 0: -fno-strict-float-cast-overflow gives casts that meaning.
#pragma once

#define WARPSMITH_FLOAT_TO(F, from, R, to)                                                          \
  WARPSMITH_FN R __##from##2##to##_rn(F x) { return (R)rint(x); }                                   \
  WARPSMITH_FN R __##from##2##to##_rz(F x) { return (R)x; }                                         \
  WARPSMITH_FN R __##from##2##to##_ru(F x) { return (R)ceil(x); }                                   \
  WARPSMITH_FN R __##from##2##to##_rd(F x) { return (R)floor(x); }
#define WARPSMITH_FLOAT_TO_ALL(F, from)                                                             \
  WARPSMITH_FLOAT_TO(F, from, int, int)                                                             \
  WARPSMITH_FLOAT_TO(F, from, unsigned int, uint)                                                   \
  WARPSMITH_FLOAT_TO(F, from, long long, ll)                                                        \
  WARPSMITH_FLOAT_TO(F, from, unsigned long long, ull)
WARPSMITH_FLOAT_TO_ALL(float, float)
WARPSMITH_FLOAT_TO_ALL(double, double)
#undef WARPSMITH_FLOAT_TO_ALL
#undef WARPSMITH_FLOAT_TO

namespace __warpsmith {
// A 64-bit integer is the exact sum of two doubles; `low` is what the first lacks.
struct exact_integer {
  double high, low;
  template <class T> WARPSMITH_METHOD explicit exact_integer(T x) {
    const double upper = (double)(x >> 32) * 4294967296.0, lower = (double)(unsigned int)x;
    high = upper + lower;
    low = lower - (high - upper);
  }
};
template <class T> WARPSMITH_FN float integer_to_float(T x, rounding mode) {
  const exact_integer exact(x);
  return round_directed(exact.high, exact.low, mode);
}
template <class T> WARPSMITH_FN double integer_to_double(T x, rounding mode) {
  const exact_integer exact(x);
  if (mode == rounding::zero) mode = exact.high > 0 ? rounding::down : rounding::up;
  if (mode == rounding::down && exact.low < 0) return nextafter(exact.high, -(double)__builtin_inff());
  if (mode == rounding::up && exact.low > 0) return nextafter(exact.high, (double)__builtin_inff());
  return exact.high;
}
}  // namespace __warpsmith

#define WARPSMITH_INTEGER_TO(I, from, to)                                                                                      \
  WARPSMITH_FN to __##from##2##to##_rn(I x) { return (to)x; }                                                                  \
  WARPSMITH_FN to __##from##2##to##_rz(I x) { return __warpsmith::integer_to_##to((__INT64_TYPE__)0 + x, __warpsmith::rounding::zero); }  \
  WARPSMITH_FN to __##from##2##to##_ru(I x) { return __warpsmith::integer_to_##to((__INT64_TYPE__)0 + x, __warpsmith::rounding::up); }    \
  WARPSMITH_FN to __##from##2##to##_rd(I x) { return __warpsmith::integer_to_##to((__INT64_TYPE__)0 + x, __warpsmith::rounding::down); }
WARPSMITH_INTEGER_TO(int, int, float)
WARPSMITH_INTEGER_TO(unsigned int, uint, float)
WARPSMITH_INTEGER_TO(long long, ll, float)
WARPSMITH_INTEGER_TO(unsigned long long, ull, float)
WARPSMITH_INTEGER_TO(long long, ll, double)
WARPSMITH_INTEGER_TO(unsigned long long, ull, double)
#undef WARPSMITH_INTEGER_TO
WARPSMITH_FN double __int2double_rn(int x) { return x; }
WARPSMITH_FN double __uint2double_rn(unsigned int x) { return x; }

WARPSMITH_FN float __double2float_rn(double x) { return (float)x; }
WARPSMITH_FN float __double2float_rz(double x) { return __warpsmith::round_directed(x, 0.0, __warpsmith::rounding::zero); }
WARPSMITH_FN float __double2float_ru(double x) { return __warpsmith::round_directed(x, 0.0, __warpsmith::rounding::up); }
WARPSMITH_FN float __double2float_rd(double x) { return __warpsmith::round_directed(x, 0.0, __warpsmith::rounding::down); }

WARPSMITH_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
WARPSMITH_FN unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
WARPSMITH_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
WARPSMITH_FN float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
WARPSMITH_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
WARPSMITH_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
WARPSMITH_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
WARPSMITH_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
WARPSMITH_FN double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}
