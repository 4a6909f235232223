// Integer and bit intrinsics.
#pragma once

WARPSMITH_FN int __popc(unsigned int x) { return __builtin_popcount(x); }
WARPSMITH_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
// The compiler's clz and ctz are undefined for 0; these are not.
WARPSMITH_FN int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
WARPSMITH_FN int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
WARPSMITH_FN int __ffs(int x) { return x == 0 ? 0 : __builtin_ctz((unsigned int)x) + 1; }
WARPSMITH_FN int __ffsll(long long x) { return x == 0 ? 0 : __builtin_ctzll((unsigned long long)x) + 1; }

WARPSMITH_FN unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
  return x >> 16 | x << 16;
}
WARPSMITH_FN unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}

// Four bytes picked from the eight of y:x; bit 3 of a selector spreads the picked byte's sign.
WARPSMITH_FN unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selectors) {
  const unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned int selector = selectors >> (4 * i) & 0xf;
    const unsigned int byte = (unsigned int)(bytes >> (8 * (selector & 7))) & 0xff;
    result |= ((selector & 8) != 0 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}

// Funnel shifts of the 64-bit value high:low; _l and _r take the amount modulo 32, _lc and _rc clamp it at 32.
WARPSMITH_FN unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
  const unsigned int amount = shift > 32 ? 32 : shift;
  return (unsigned int)((((unsigned long long)high << 32 | low) << amount) >> 32);
}
WARPSMITH_FN unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
  const unsigned int amount = shift > 32 ? 32 : shift;
  return (unsigned int)(((unsigned long long)high << 32 | low) >> amount);
}
WARPSMITH_FN unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return __funnelshift_lc(low, high, shift & 31);
}
WARPSMITH_FN unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return __funnelshift_rc(low, high, shift & 31);
}

WARPSMITH_FN int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
WARPSMITH_FN unsigned int __umulhi(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x * y) >> 32);
}
WARPSMITH_FN unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  const unsigned long long x0 = (unsigned int)x, x1 = x >> 32, y0 = (unsigned int)y, y1 = y >> 32;
  const unsigned long long middle = x1 * y0 + (x0 * y0 >> 32), cross = x0 * y1 + (unsigned int)middle;
  return x1 * y1 + (middle >> 32) + (cross >> 32);
}
WARPSMITH_FN long long __mul64hi(long long x, long long y) {
  unsigned long long high = __umul64hi((unsigned long long)x, (unsigned long long)y);
  if (x < 0) high -= (unsigned long long)y;
  if (y < 0) high -= (unsigned long long)x;
  return (long long)high;
}
WARPSMITH_FN int mulhi(int x, int y) { return __mulhi(x, y); }
WARPSMITH_FN unsigned int mulhi(unsigned int x, unsigned int y) { return __umulhi(x, y); }
WARPSMITH_FN int __mul24(int x, int y) {
  return (int)((unsigned int)((int)((unsigned int)x << 8) >> 8) * (unsigned int)((int)((unsigned int)y << 8) >> 8));
}
WARPSMITH_FN unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffffu) * (y & 0xffffffu); }

WARPSMITH_FN unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return (x > y ? x - y : y - x) + z; }
WARPSMITH_FN unsigned int __sad(int x, int y, unsigned int z) {
  return (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x) + z;
}
WARPSMITH_FN int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
WARPSMITH_FN int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
WARPSMITH_FN unsigned int __uhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y) >> 1); }
WARPSMITH_FN unsigned int __urhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y + 1) >> 1); }

// The position of the |offset|-th set bit from `base` on, upwards or downwards; all ones if there is none. 0 asks for the bit at base.
WARPSMITH_FN unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  if (offset == 0) return mask >> base & 1u ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  for (int position = (int)base, left = offset * step; position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1u) != 0 && --left == 0) return (unsigned int)position;
  }
  return 0xffffffffu;
}

// Dot products of packed bytes, or of a pair of 16-bit numbers with half of the other's bytes, added to c (modulo 2³²).
namespace __warpsmith {
template <class A, class B> WARPSMITH_FN unsigned int dot4(unsigned int a, unsigned int b, unsigned int c) {
  for (int i = 0; i < 4; ++i) c += (unsigned int)((int)(A)(a >> (8 * i)) * (int)(B)(b >> (8 * i)));
  return c;
}
template <class A, class B> WARPSMITH_FN unsigned int dot2(unsigned int a, unsigned int b, unsigned int c) {
  for (int i = 0; i < 2; ++i) c += (unsigned int)((int)(A)(a >> (16 * i)) * (int)(B)(b >> (8 * i)));
  return c;
}
}  // namespace __warpsmith
WARPSMITH_FN int __dp4a(int a, int b, int c) { return (int)__warpsmith::dot4<signed char, signed char>(a, b, c); }
WARPSMITH_FN unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
  return __warpsmith::dot4<unsigned char, unsigned char>(a, b, c);
}
WARPSMITH_FN int __dp4a(char4 a, char4 b, int c) { return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c); }
WARPSMITH_FN unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), c);
}
WARPSMITH_FN int __dp2a_lo(int a, int b, int c) { return (int)__warpsmith::dot2<short, signed char>(a, b, c); }
WARPSMITH_FN int __dp2a_hi(int a, int b, int c) { return (int)__warpsmith::dot2<short, signed char>(a, (unsigned int)b >> 16, c); }
WARPSMITH_FN unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int c) {
  return __warpsmith::dot2<unsigned short, unsigned char>(a, b, c);
}
WARPSMITH_FN unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int c) {
  return __warpsmith::dot2<unsigned short, unsigned char>(a, b >> 16, c);
}
