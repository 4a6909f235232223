// __half and __half2: the types, their conversions, and through half_family.inc their arithmetic.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/small_float.h"

struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };

struct __half {
  __half() = default;
  WARPSMITH_METHOD constexpr __half(__half_raw raw) : bits(__builtin_bit_cast(_Float16, raw)) {}
  WARPSMITH_METHOD constexpr __half(_Float16 value) : bits(value) {}
  WARPSMITH_METHOD __half(float value) : bits((_Float16)value) {}
  WARPSMITH_METHOD __half(double value) : bits((_Float16)__warpsmith::round_to_odd(value)) {}
  // Beyond 2²⁴ a float rounds an integer, but half overflows long before.
  template <class T> requires(__warpsmith::is_integer<T>) WARPSMITH_METHOD __half(T value) : bits((_Float16)(float)value) {}
  WARPSMITH_METHOD operator float() const { return (float)bits; }
  WARPSMITH_METHOD operator __half_raw() const { return __builtin_bit_cast(__half_raw, bits); }

 private:
  _Float16 bits;
};

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  WARPSMITH_METHOD constexpr __half2(const __half& x, const __half& y) : x(x), y(y) {}
  WARPSMITH_METHOD __half2(__half2_raw raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

namespace __warpsmith {
WARPSMITH_FN __half half_directed(float x, rounding mode) {
  const __half near(x);
  const float back = near;
  if (isinf(back) && !isinf(x)) {  // overflow: the largest number, unless the direction is outwards
    const bool outwards = mode == rounding::up ? x > 0 : mode == rounding::down ? x < 0 : false;
    return outwards ? near : bit_cast<__half>((unsigned short)(x > 0 ? 0x7bff : 0xfbff));
  }
  return round_directed_16(x, near, back, mode);
}
}  // namespace __warpsmith

#define __H __half
#define __H2 __half2
#include "warpsmith/half_family.inc"

WARPSMITH_FN __half __float2half(float x) { return __half(x); }
WARPSMITH_FN __half __float2half_rn(float x) { return __half(x); }
WARPSMITH_FN __half __float2half_rz(float x) { return __warpsmith::half_directed(x, __warpsmith::rounding::zero); }
WARPSMITH_FN __half __float2half_rd(float x) { return __warpsmith::half_directed(x, __warpsmith::rounding::down); }
WARPSMITH_FN __half __float2half_ru(float x) { return __warpsmith::half_directed(x, __warpsmith::rounding::up); }
WARPSMITH_FN __half __double2half(double x) { return __half(x); }
WARPSMITH_FN float __half2float(__half x) { return (float)x; }
WARPSMITH_FN __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
WARPSMITH_FN __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
WARPSMITH_FN __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
WARPSMITH_FN float2 __half22float2(__half2 x) { return {(float)x.x, (float)x.y}; }

WARPSMITH_FN __half2 make_half2(__half x, __half y) { return {x, y}; }
WARPSMITH_FN __half2 __half2half2(__half x) { return {x, x}; }
WARPSMITH_FN __half2 __halves2half2(__half x, __half y) { return {x, y}; }
WARPSMITH_FN __half __low2half(__half2 x) { return x.x; }
WARPSMITH_FN __half __high2half(__half2 x) { return x.y; }
WARPSMITH_FN __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
WARPSMITH_FN __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
WARPSMITH_FN __half2 __lows2half2(__half2 x, __half2 y) { return {x.x, y.x}; }
WARPSMITH_FN __half2 __highs2half2(__half2 x, __half2 y) { return {x.y, y.y}; }
WARPSMITH_FN __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }

WARPSMITH_FN short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }
WARPSMITH_FN unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }
WARPSMITH_FN __half __short_as_half(short x) { return __builtin_bit_cast(__half, x); }
WARPSMITH_FN __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }

// To and from integers; a half's integers are exact in float, so float's rounding and saturation do.
#define WARPSMITH_HALF_INTEGER(T, name)                                                          \
  WARPSMITH_FN T __half2##name##_rn(__half x) { return (T)rintf((float)x); }                     \
  WARPSMITH_FN T __half2##name##_rz(__half x) { return (T)(float)x; }                            \
  WARPSMITH_FN T __half2##name##_ru(__half x) { return (T)ceilf((float)x); }                     \
  WARPSMITH_FN T __half2##name##_rd(__half x) { return (T)floorf((float)x); }                    \
  WARPSMITH_FN __half __##name##2half_rn(T x) { return __half(x); }                              \
  WARPSMITH_FN __half __##name##2half_rz(T x) { return __float2half_rz((float)x); }              \
  WARPSMITH_FN __half __##name##2half_ru(T x) { return __float2half_ru((float)x); }              \
  WARPSMITH_FN __half __##name##2half_rd(T x) { return __float2half_rd((float)x); }
WARPSMITH_HALF_INTEGER(int, int) WARPSMITH_HALF_INTEGER(unsigned int, uint) WARPSMITH_HALF_INTEGER(short, short)
WARPSMITH_HALF_INTEGER(unsigned short, ushort) WARPSMITH_HALF_INTEGER(long long, ll) WARPSMITH_HALF_INTEGER(unsigned long long, ull)
#undef WARPSMITH_HALF_INTEGER
WARPSMITH_FN signed char __half2char_rz(__half x) { return (signed char)(float)x; }
WARPSMITH_FN unsigned char __half2uchar_rz(__half x) { return (unsigned char)(float)x; }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)

#include "warpsmith/pop_macros.h"
