// The 8-bit floats e4m3 and e5m2: storage types, CUDA's conversion functions, and the vector types of two and four.
//
// Round to nearest even. SATFINITE clamps to the largest number; NOSAT gives NaN (e4m3, which has no infinity) or infinity (e5m2).
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/bfloat16.h"
#include "warpsmith/half.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace __warpsmith {
struct e4m3 { static constexpr int mantissa = 3, bias = 7; static constexpr unsigned int largest = 0x7e, overflow = 0x7f; };
struct e5m2 { static constexpr int mantissa = 2, bias = 15; static constexpr unsigned int largest = 0x7b, overflow = 0x7c; };

template <class Format> WARPSMITH_FN unsigned char to_float8(float x, __nv_saturation_t saturation) {
  constexpr int cut = 23 - Format::mantissa;
  const unsigned int raw = bit_cast<unsigned int>(x), sign = raw >> 24 & 0x80u, magnitude = raw & 0x7fffffffu;
  // Numbers below the smallest normal are a count of the smallest step; the count of a carry is the smallest normal's own code.
  constexpr float smallest = __builtin_bit_cast(float, (128u - Format::bias) << 23);
  constexpr float steps = __builtin_bit_cast(float, (126u + Format::bias + Format::mantissa) << 23);
  const float size = bit_cast<float>(magnitude);
  const unsigned int rounded = (magnitude + (1u << (cut - 1)) - 1 + (magnitude >> cut & 1u)) >> cut;
  const unsigned int normal = rounded - ((127u - Format::bias) << Format::mantissa);
  unsigned int code = size < smallest ? (unsigned int)rintf(size * steps) : normal;
  if (code > Format::largest) code = saturation == __NV_SATFINITE ? Format::largest : Format::overflow;
  if (x != x) code = 0x7f;
  return (unsigned char)(sign | code);
}

template <class Format> WARPSMITH_FN float from_float8(unsigned char code) {
  // Read as a float of the same layout, then multiplied by the difference of the biases: exact, subnormals included.
  constexpr float scale = __builtin_bit_cast(float, (127u + 127u - Format::bias) << 23);
  const float size = bit_cast<float>((code & 0x7fu) << (23 - Format::mantissa)) * scale;
  const unsigned int magnitude = code & 0x7fu;
  float result = size;
  if (magnitude > Format::largest) result = Format::overflow == 0x7c && magnitude == 0x7c ? __builtin_inff() : __builtin_nanf("");
  return code & 0x80u ? -result : result;
}

WARPSMITH_FN unsigned char to_float8(float x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? to_float8<e4m3>(x, saturation) : to_float8<e5m2>(x, saturation);
}
WARPSMITH_FN float from_float8(unsigned char code, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? from_float8<e4m3>(code) : from_float8<e5m2>(code);
}
}  // namespace __warpsmith

// From one number, and from two, in every format that CUDA names; the lower byte is the first.
#define WARPSMITH_CVT_FP8(from, T, value)                                                                                       \
  WARPSMITH_FN __nv_fp8_storage_t __nv_cvt_##from##_to_fp8(T x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {             \
    return __warpsmith::to_float8(value(x), s, k);                                                                              \
  }
#define WARPSMITH_CVT_FP8X2(from, T, value)                                                                                     \
  WARPSMITH_FN __nv_fp8x2_storage_t __nv_cvt_##from##_to_fp8x2(T x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {         \
    return (unsigned short)(__warpsmith::to_float8(value(x.x), s, k) | __warpsmith::to_float8(value(x.y), s, k) << 8);          \
  }
#define WARPSMITH_HALF_VALUE(raw) ((float)__ushort_as_half(raw))
#define WARPSMITH_BFLOAT16_VALUE(raw) ((float)__ushort_as_bfloat16(raw))
WARPSMITH_CVT_FP8(float, float, )
WARPSMITH_CVT_FP8(double, double, __warpsmith::round_to_odd)
WARPSMITH_CVT_FP8(halfraw, __half_raw, (float)(__half))
WARPSMITH_CVT_FP8(bfloat16raw, __nv_bfloat16_raw, (float)(__nv_bfloat16))
WARPSMITH_CVT_FP8X2(float2, float2, )
WARPSMITH_CVT_FP8X2(double2, double2, __warpsmith::round_to_odd)
WARPSMITH_CVT_FP8X2(halfraw2, __half2_raw, WARPSMITH_HALF_VALUE)
WARPSMITH_CVT_FP8X2(bfloat16raw2, __nv_bfloat162_raw, WARPSMITH_BFLOAT16_VALUE)
#undef WARPSMITH_HALF_VALUE
#undef WARPSMITH_BFLOAT16_VALUE
#undef WARPSMITH_CVT_FP8
#undef WARPSMITH_CVT_FP8X2

WARPSMITH_FN __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t k) {
  return __half(__warpsmith::from_float8(x, k));
}
WARPSMITH_FN __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t k) {
  return {__nv_cvt_fp8_to_halfraw((unsigned char)x, k).x, __nv_cvt_fp8_to_halfraw((unsigned char)(x >> 8), k).x};
}

#define WARPSMITH_FP8_TYPE(name, format)                                                                                  \
  struct name {                                                                                                           \
    __nv_fp8_storage_t __x;                                                                                               \
    name() = default;                                                                                                     \
    WARPSMITH_METHOD explicit name(float x) : __x(__warpsmith::to_float8<format>(x, __NV_SATFINITE)) {}                   \
    WARPSMITH_METHOD explicit name(double x) : name(__warpsmith::round_to_odd(x)) {}                                      \
    WARPSMITH_METHOD explicit name(__half x) : name((float)x) {}                                                          \
    WARPSMITH_METHOD explicit name(__nv_bfloat16 x) : name((float)x) {}                                                   \
    template <class T> requires(__warpsmith::is_integer<T>) WARPSMITH_METHOD explicit name(T x) : name((double)x) {}      \
    WARPSMITH_METHOD explicit operator float() const { return __warpsmith::from_float8<format>(__x); }                    \
    WARPSMITH_METHOD explicit operator double() const { return (float)*this; }                                            \
    WARPSMITH_METHOD explicit operator __half() const { return (float)*this; }                                            \
    WARPSMITH_METHOD explicit operator __nv_bfloat16() const { return (float)*this; }                                     \
    WARPSMITH_METHOD explicit operator bool() const { return (__x & 0x7f) != 0; }                                         \
    template <class T> requires(__warpsmith::is_integer<T>) WARPSMITH_METHOD explicit operator T() const { return (T)(float)*this; } \
  };
WARPSMITH_FP8_TYPE(__nv_fp8_e4m3, __warpsmith::e4m3)
WARPSMITH_FP8_TYPE(__nv_fp8_e5m2, __warpsmith::e5m2)
#undef WARPSMITH_FP8_TYPE

#define WARPSMITH_FP8_VECTORS(scalar)                                                                                     \
  struct __attribute__((aligned(2))) scalar##_x2 {                                                                        \
    __nv_fp8x2_storage_t __x;                                                                                             \
    scalar##_x2() = default;                                                                                              \
    WARPSMITH_METHOD explicit scalar##_x2(float2 v) : __x((unsigned short)(scalar(v.x).__x | scalar(v.y).__x << 8)) {}    \
    WARPSMITH_METHOD explicit scalar##_x2(double2 v) : __x((unsigned short)(scalar(v.x).__x | scalar(v.y).__x << 8)) {}   \
    WARPSMITH_METHOD explicit scalar##_x2(__half2 v) : __x((unsigned short)(scalar(v.x).__x | scalar(v.y).__x << 8)) {}   \
    WARPSMITH_METHOD explicit scalar##_x2(__nv_bfloat162 v) : __x((unsigned short)(scalar(v.x).__x | scalar(v.y).__x << 8)) {}  \
    WARPSMITH_METHOD float lane(int i) const { return (float)__builtin_bit_cast(scalar, (unsigned char)(__x >> (8 * i))); }     \
    WARPSMITH_METHOD explicit operator float2() const { return {lane(0), lane(1)}; }                                      \
    WARPSMITH_METHOD explicit operator __half2() const { return {__half(lane(0)), __half(lane(1))}; }                     \
  };                                                                                                                      \
  struct __attribute__((aligned(4))) scalar##_x4 {                                                                        \
    __nv_fp8x4_storage_t __x;                                                                                             \
    scalar##_x4() = default;                                                                                              \
    WARPSMITH_METHOD explicit scalar##_x4(float4 v) : scalar##_x4(scalar##_x2(float2{v.x, v.y}), scalar##_x2(float2{v.z, v.w})) {}  \
    WARPSMITH_METHOD explicit scalar##_x4(__half2 low, __half2 high) : scalar##_x4(scalar##_x2(low), scalar##_x2(high)) {}      \
    WARPSMITH_METHOD explicit scalar##_x4(__nv_bfloat162 low, __nv_bfloat162 high) : scalar##_x4(scalar##_x2(low), scalar##_x2(high)) {}  \
    WARPSMITH_METHOD scalar##_x4(scalar##_x2 low, scalar##_x2 high) : __x(low.__x | (unsigned int)high.__x << 16) {}      \
    WARPSMITH_METHOD float lane(int i) const { return (float)__builtin_bit_cast(scalar, (unsigned char)(__x >> (8 * i))); }     \
    WARPSMITH_METHOD explicit operator float4() const { return {lane(0), lane(1), lane(2), lane(3)}; }                    \
  };
WARPSMITH_FP8_VECTORS(__nv_fp8_e4m3)
WARPSMITH_FP8_VECTORS(__nv_fp8_e5m2)
#undef WARPSMITH_FP8_VECTORS
typedef __nv_fp8_e4m3_x2 __nv_fp8x2_e4m3;
typedef __nv_fp8_e4m3_x4 __nv_fp8x4_e4m3;
typedef __nv_fp8_e5m2_x2 __nv_fp8x2_e5m2;
typedef __nv_fp8_e5m2_x4 __nv_fp8x4_e5m2;

#include "warpsmith/pop_macros.h"
