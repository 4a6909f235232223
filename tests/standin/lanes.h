// Instructions that do the same in every lane: how a function of numbers becomes one of registers.
#pragma once
#include <math.h>

#include "parse.h"

struct bf16 {
  u16 bits;
  bf16() = default;
  bf16(float value) {
    u32 raw = __builtin_bit_cast(u32, value);
    bits = value != value ? 0x7fff : (raw + 0x7fff + (raw >> 16 & 1)) >> 16;
  }
  operator float() const { return __builtin_bit_cast(float, u32(bits) << 16); }
};

template <class T> constexpr bool is_float = false;
template <> inline constexpr bool is_float<float> = true;
template <> inline constexpr bool is_float<double> = true;
template <> inline constexpr bool is_float<f16> = true;
template <> inline constexpr bool is_float<bf16> = true;

// What a number is computed in: whole numbers wrap, small floats are rounded once.
template <class T> struct As { using type = T; };
template <> struct As<f16> { using type = float; };
template <> struct As<bf16> { using type = float; };
template <class T> using as = typename As<T>::type;

template <class T, u32 Per, class F> void unary(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  w.put<T, Per>(op.d, [=](u32 i) { return T(F{}(as<T>(a[i]))); });
}
template <class T, u32 Per, class F> void binary(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  w.put<T, Per>(op.d, [=](u32 i) { return T(F{}(as<T>(a[i]), as<T>(b[i]))); });
}
template <class T, u32 Per, class F> void ternary(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = w.at<T>(op.c);
  w.put<T, Per>(op.d, [=](u32 i) { return T(F{}(as<T>(a[i]), as<T>(b[i]), as<T>(c[i]))); });
}

// Calls `with` for the C++ type of a PTX type: `with.template operator()<T, Per>()` gives the handler.
template <class With> Run of_integers(Type t, With with) {
  bool is_signed = t.kind == 's';
  switch (t.bytes) {
    case 2: return is_signed ? with.template operator()<i16, 1>() : with.template operator()<u16, 1>();
    case 4: return is_signed ? with.template operator()<i32, 1>() : with.template operator()<u32, 1>();
    case 8: return is_signed ? with.template operator()<i64, 1>() : with.template operator()<u64, 1>();
    default: return nullptr;
  }
}
template <class With> Run of_floats(Type t, With with) {
  if (t.kind == 'h') return t.per == 2 ? with.template operator()<bf16, 2>() : with.template operator()<bf16, 1>();
  switch (t.bytes) {
    case 2: return t.per == 2 ? with.template operator()<f16, 2>() : with.template operator()<f16, 1>();
    case 4: return with.template operator()<float, 1>();
    case 8: return with.template operator()<double, 1>();
    default: return nullptr;
  }
}
template <class With> Run of_numbers(Type t, With with) {
  return t.kind == 'f' || t.kind == 'h' ? of_floats(t, with) : of_integers(t, with);
}

template <class F> Run unary_of(Type t, F) { return of_numbers(t, []<class T, u32 Per> -> Run { return unary<T, Per, F>; }); }
template <class F> Run binary_of(Type t, F) { return of_numbers(t, []<class T, u32 Per> -> Run { return binary<T, Per, F>; }); }
template <class F> Run binary_of_integers(Type t, F) { return of_integers(t, []<class T, u32 Per> -> Run { return binary<T, Per, F>; }); }
template <class F> Run unary_of_integers(Type t, F) { return of_integers(t, []<class T, u32 Per> -> Run { return unary<T, Per, F>; }); }
template <class F> Run unary_of_floats(Type t, F) { return of_floats(t, []<class T, u32 Per> -> Run { return unary<T, Per, F>; }); }
template <class F> Run binary_of_floats(Type t, F) { return of_floats(t, []<class T, u32 Per> -> Run { return binary<T, Per, F>; }); }
