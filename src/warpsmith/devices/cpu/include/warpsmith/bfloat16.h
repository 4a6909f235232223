// __nv_bfloat16 and __nv_bfloat162: the types, their conversions, and through half_family.inc their arithmetic.
//
// A bfloat16 is the upper half of a float, and is kept as those bits: the runtime has no such type, and shifts vectorise.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/small_float.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

namespace __warpsmith {
WARPSMITH_FN unsigned short bfloat16_bits(float x) {
  const unsigned int raw = bit_cast<unsigned int>(x);
  const unsigned int rounded = (raw + 0x7fffu + (raw >> 16 & 1u)) >> 16;
  return (unsigned short)(x != x ? 0x7fffu : rounded);
}
}  // namespace __warpsmith

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  WARPSMITH_METHOD constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
  WARPSMITH_METHOD __nv_bfloat16(float value) : bits(__warpsmith::bfloat16_bits(value)) {}
  WARPSMITH_METHOD __nv_bfloat16(double value) : bits(__warpsmith::bfloat16_bits(__warpsmith::round_to_odd(value))) {}
  // 64-bit integers are rounded to odd on the way, since float would round them first.
  template <class T> requires(__warpsmith::is_integer<T> && sizeof(T) <= 4)
  WARPSMITH_METHOD __nv_bfloat16(T value) : __nv_bfloat16((double)value) {}
  template <class T> requires(__warpsmith::is_integer<T> && sizeof(T) == 8)
  WARPSMITH_METHOD __nv_bfloat16(T value) : __nv_bfloat16(__warpsmith::odd_double(value)) {}
  WARPSMITH_METHOD operator float() const { return __warpsmith::bit_cast<float>((unsigned int)bits << 16); }
  WARPSMITH_METHOD operator __nv_bfloat16_raw() const { return {bits}; }

 private:
  unsigned short bits;
};

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  WARPSMITH_METHOD constexpr __nv_bfloat162(const __nv_bfloat16& x, const __nv_bfloat16& y) : x(x), y(y) {}
  WARPSMITH_METHOD __nv_bfloat162(__nv_bfloat162_raw raw) : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

namespace __warpsmith {
// Directed rounding of the upper half: the float's own bits, cut, and one more if anything was lost in that direction.
WARPSMITH_FN __nv_bfloat16 bfloat16_directed(float x, rounding mode) {
  const __nv_bfloat16 near(x);
  const float back = near;
  if (isinf(back) && !isinf(x)) {
    const bool outwards = mode == rounding::up ? x > 0 : mode == rounding::down ? x < 0 : false;
    return outwards ? near : bit_cast<__nv_bfloat16>((unsigned short)(x > 0 ? 0x7f7f : 0xff7f));
  }
  return round_directed_16(x, near, back, mode);
}
template <class T> WARPSMITH_FN __nv_bfloat16 integer_to_bfloat16(T x, rounding mode) {
  return bfloat16_directed(integer_to_float(x, mode), mode);
}
}  // namespace __warpsmith

#define __H __nv_bfloat16
#define __H2 __nv_bfloat162
#include "warpsmith/half_family.inc"

WARPSMITH_FN __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
WARPSMITH_FN __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
WARPSMITH_FN __nv_bfloat16 __float2bfloat16_rz(float x) { return __warpsmith::bfloat16_directed(x, __warpsmith::rounding::zero); }
WARPSMITH_FN __nv_bfloat16 __float2bfloat16_rd(float x) { return __warpsmith::bfloat16_directed(x, __warpsmith::rounding::down); }
WARPSMITH_FN __nv_bfloat16 __float2bfloat16_ru(float x) { return __warpsmith::bfloat16_directed(x, __warpsmith::rounding::up); }
WARPSMITH_FN __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
WARPSMITH_FN float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
WARPSMITH_FN __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
WARPSMITH_FN __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
WARPSMITH_FN __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)}; }
WARPSMITH_FN float2 __bfloat1622float2(__nv_bfloat162 x) { return {(float)x.x, (float)x.y}; }

WARPSMITH_FN __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
WARPSMITH_FN __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
WARPSMITH_FN __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
WARPSMITH_FN __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
WARPSMITH_FN __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
WARPSMITH_FN __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) { return {x.x, x.x}; }
WARPSMITH_FN __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) { return {x.y, x.y}; }
WARPSMITH_FN __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 x, __nv_bfloat162 y) { return {x.x, y.x}; }
WARPSMITH_FN __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 x, __nv_bfloat162 y) { return {x.y, y.y}; }
WARPSMITH_FN __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 x) { return {x.y, x.x}; }

WARPSMITH_FN short __bfloat16_as_short(__nv_bfloat16 x) { return __builtin_bit_cast(short, x); }
WARPSMITH_FN unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return __builtin_bit_cast(unsigned short, x); }
WARPSMITH_FN __nv_bfloat16 __short_as_bfloat16(short x) { return __builtin_bit_cast(__nv_bfloat16, x); }
WARPSMITH_FN __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __builtin_bit_cast(__nv_bfloat16, x); }

#define WARPSMITH_BFLOAT16_INTEGER(T, name)                                                      \
  WARPSMITH_FN T __bfloat162##name##_rn(__nv_bfloat16 x) { return (T)rintf((float)x); }          \
  WARPSMITH_FN T __bfloat162##name##_rz(__nv_bfloat16 x) { return (T)(float)x; }                 \
  WARPSMITH_FN T __bfloat162##name##_ru(__nv_bfloat16 x) { return (T)ceilf((float)x); }          \
  WARPSMITH_FN T __bfloat162##name##_rd(__nv_bfloat16 x) { return (T)floorf((float)x); }         \
  WARPSMITH_FN __nv_bfloat16 __##name##2bfloat16_rn(T x) { return __nv_bfloat16(x); }          \
  WARPSMITH_FN __nv_bfloat16 __##name##2bfloat16_rz(T x) { return __warpsmith::integer_to_bfloat16(0ll + x, __warpsmith::rounding::zero); }  \
  WARPSMITH_FN __nv_bfloat16 __##name##2bfloat16_ru(T x) { return __warpsmith::integer_to_bfloat16(0ll + x, __warpsmith::rounding::up); }  \
  WARPSMITH_FN __nv_bfloat16 __##name##2bfloat16_rd(T x) { return __warpsmith::integer_to_bfloat16(0ll + x, __warpsmith::rounding::down); }
WARPSMITH_BFLOAT16_INTEGER(int, int) WARPSMITH_BFLOAT16_INTEGER(unsigned int, uint) WARPSMITH_BFLOAT16_INTEGER(short, short)
WARPSMITH_BFLOAT16_INTEGER(unsigned short, ushort) WARPSMITH_BFLOAT16_INTEGER(long long, ll)
WARPSMITH_BFLOAT16_INTEGER(unsigned long long, ull)
#undef WARPSMITH_BFLOAT16_INTEGER

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)

#include "warpsmith/pop_macros.h"
