// CUDA's short vectors: plain aggregates whose size and alignment are those of the GPU, with their make_ functions, and dim3.
//
// No operators: CUDA has none, and half of all code bases define their own. (HIP has them: hip.h.)
#pragma once

#define WARPSMITH_VECTORS(name, T, align2, align4)                                                       \
  struct name##1 { T x; };                                                                               \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                           \
  struct name##3 { T x, y, z; };                                                                         \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                     \
  WARPSMITH_FN name##1 make_##name##1(T x) { return {x}; }                                     \
  WARPSMITH_FN name##2 make_##name##2(T x, T y) { return {x, y}; }                             \
  WARPSMITH_FN name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                     \
  WARPSMITH_FN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

WARPSMITH_VECTORS(char, signed char, 2, 4)
WARPSMITH_VECTORS(uchar, unsigned char, 2, 4)
WARPSMITH_VECTORS(short, short, 4, 8)
WARPSMITH_VECTORS(ushort, unsigned short, 4, 8)
WARPSMITH_VECTORS(int, int, 8, 16)
WARPSMITH_VECTORS(uint, unsigned int, 8, 16)
WARPSMITH_VECTORS(long, long, 16, 16)
WARPSMITH_VECTORS(ulong, unsigned long, 16, 16)
WARPSMITH_VECTORS(longlong, long long, 16, 16)
WARPSMITH_VECTORS(ulonglong, unsigned long long, 16, 16)
WARPSMITH_VECTORS(float, float, 8, 16)
WARPSMITH_VECTORS(double, double, 16, 16)
#undef WARPSMITH_VECTORS

struct dim3 {
  unsigned int x, y, z;
  WARPSMITH_METHOD constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  WARPSMITH_METHOD constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  WARPSMITH_METHOD constexpr operator uint3() const { return {x, y, z}; }
};
