// What inline PTX is written out with (`devices/cpu/ptx`). Registers are unsigned integers that hold bits; `as` gives them a type.
#pragma once

#include "warpsmith/push_macros.h"

namespace __warpsmith::ptx {
template <unsigned bytes> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef unsigned long type; };
template <class T> using bits_of = typename word<sizeof(T)>::type;

// A register may be wider than what is read of it; an immediate may have any width.
template <class T, class R> WARPSMITH_FN T as(R bits) {
  if constexpr (sizeof(T) == sizeof(R)) return bit_cast<T>(bits);
  else return bit_cast<T>((bits_of<T>)bits);
}
template <class T, class P> WARPSMITH_FN T as(P* pointer) { return as<T>((unsigned long)pointer); }

// What is narrower than its register is extended, with its sign if it has one.
template <class R, class T> WARPSMITH_FN void put(R& to, T value) {
  if constexpr (sizeof(T) == sizeof(R)) to = bit_cast<R>(value);
  else if constexpr (__is_integral(T)) to = (R)value;
  else to = (R)bit_cast<bits_of<T>>(value);
}

template <class T> WARPSMITH_FN T add_(T x, T y) { return (T)((bits_of<T>)x + (bits_of<T>)y); }
template <class T> WARPSMITH_FN T sub_(T x, T y) { return (T)((bits_of<T>)x - (bits_of<T>)y); }
template <class T> WARPSMITH_FN T plus(T x, T y) { return add_(x, y); }
template <class T> WARPSMITH_FN T neg_(T x) { return sub_((T)0, x); }
template <class T> WARPSMITH_FN T abs_(T x) { return x < 0 ? neg_(x) : x; }
template <class T> WARPSMITH_FN T div_(T x, T y) { return y == 0 ? (T)-1 : x / y; }
template <class T> WARPSMITH_FN T min_(T x, T y) { return x < y ? x : y; }
template <class T> WARPSMITH_FN T max_(T x, T y) { return x > y ? x : y; }
WARPSMITH_FN unsigned int mul_wide(unsigned short x, unsigned short y) { return (unsigned int)x * y; }
WARPSMITH_FN int mul_wide(short x, short y) { return (int)x * y; }
WARPSMITH_FN unsigned long mul_wide(unsigned int x, unsigned int y) { return (unsigned long)x * y; }
WARPSMITH_FN long mul_wide(int x, int y) { return (long)x * y; }
template <class T> WARPSMITH_FN T mul_hi(T x, T y) { return (T)(mul_wide(x, y) >> 8 * sizeof(T)); }
// As 32 bits at least: the product of two large shorts would overflow an int.
template <class T> WARPSMITH_FN T mul_lo(T x, T y) { return (T)(1u * (bits_of<T>)x * (bits_of<T>)y); }

template <class T> WARPSMITH_FN T and_(T x, T y) { return (T)(x & y); }
template <class T> WARPSMITH_FN T or_(T x, T y) { return (T)(x | y); }
template <class T> WARPSMITH_FN T xor_(T x, T y) { return (T)(x ^ y); }
template <class T> WARPSMITH_FN T not_(T x) { return (T)~x; }
template <> WARPSMITH_FN bool not_(bool x) { return !x; }
// By more bits than there are, nothing is left but the sign.
template <class T> WARPSMITH_FN T shl_(T x, unsigned int by) { return by < 8 * sizeof(T) ? (T)((bits_of<T>)x << by) : (T)0; }
template <class T> WARPSMITH_FN T shr_(T x, unsigned int by) { return (T)(x >> (by < 8 * sizeof(T) ? by : 8 * sizeof(T) - 1)) >> (by < 8 * sizeof(T) ? 0 : 1); }

// Any function of three bits: `table` has its value for each of the eight cases.
WARPSMITH_FN unsigned int lop3(unsigned int a, unsigned int b, unsigned int c, unsigned int table) {
  unsigned int result = 0;
#pragma unroll
  for (unsigned int i = 0; i < 8; ++i) result |= (table >> i & 1u ? ~0u : 0u) & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
WARPSMITH_FN unsigned int low_bits(unsigned int count) { return count < 32 ? (1u << count) - 1 : ~0u; }
WARPSMITH_FN unsigned int inserted(unsigned int value, unsigned int into, unsigned int start, unsigned int length) {
  const unsigned int mask = shl_(low_bits(length & 0xff), start & 0xff);
  return (shl_(value, start & 0xff) & mask) | (into & ~mask);
}
WARPSMITH_FN unsigned int field(unsigned int value, unsigned int start, unsigned int length) {
  return shr_(value, start & 0xff) & low_bits(length & 0xff);
}
WARPSMITH_FN int field(int value, unsigned int start, unsigned int length) {
  start &= 0xff, length &= 0xff;
  if (length == 0) return 0;
  const unsigned int last = start + length - 1 < 31 ? start + length - 1 : 31;
  const unsigned int sign = (unsigned int)value >> last & 1u ? ~low_bits(length) : 0u;
  return (int)((shr_((unsigned int)value, start) & low_bits(length)) | sign | ((unsigned int)value >> last & 1u ? ~shr_(~0u, start) : 0u));
}

// The nearest there is; 0 for what is not a number.
template <class T> WARPSMITH_FN T clamped(double x) {
  constexpr T largest = (T)((bits_of<T>)~(bits_of<T>)0 >> ((T)-1 < (T)0 ? 1 : 0)), smallest = (T)-1 < (T)0 ? (T)(-largest - 1) : (T)0;
  if (x != x) return 0;
  return x >= (double)largest ? largest : x <= (double)smallest ? smallest : (T)x;
}
// Of whole numbers; both ends are compared in the wider type of the two, without a double's 53 bits.
template <class T, class V> WARPSMITH_FN T nearest(V x) {
  constexpr bool is_signed = (T)-1 < (T)0;
  constexpr T largest = (T)((bits_of<T>)~(bits_of<T>)0 >> (is_signed ? 1 : 0));
  if (x < (V)0) {
    if (!is_signed) return (T)0;
    return (long long)x < -(long long)largest - 1 ? (T)(-largest - 1) : (T)x;
  }
  return (unsigned long long)x > (unsigned long long)largest ? largest : (T)x;
}

WARPSMITH_FN unsigned int joined(unsigned short lower, unsigned short upper) { return (unsigned int)upper << 16 | lower; }
WARPSMITH_FN unsigned long joined(unsigned int lower, unsigned int upper) { return (unsigned long)upper << 32 | lower; }
template <int index> WARPSMITH_FN unsigned short part(unsigned int whole) { return (unsigned short)(whole >> 16 * index); }
template <int index> WARPSMITH_FN unsigned int part(unsigned long whole) { return (unsigned int)(whole >> 32 * index); }

template <class P> WARPSMITH_FN char* address(P* pointer) { return (char*)pointer; }
WARPSMITH_FN char* address(unsigned long number) { return (char*)number; }
WARPSMITH_FN char* address(long number) { return (char*)number; }
WARPSMITH_FN char* address(unsigned long long number) { return (char*)number; }
WARPSMITH_FN char* address(long long number) { return (char*)number; }

// At once, as the instruction does it; of memory that others know by other types.
template <class T, int count> struct __attribute__((aligned(sizeof(T) * count), may_alias)) several { T at[count]; };
template <class T, int count> WARPSMITH_FN several<T, count> loaded(const char* from) { return *(const several<T, count>*)from; }
template <class T, int count> WARPSMITH_FN void store(char* to, several<T, count> values) { *(several<T, count>*)to = values; }
}  // namespace __warpsmith::ptx

#include "warpsmith/pop_macros.h"
