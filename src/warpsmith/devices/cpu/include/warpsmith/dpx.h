// The instructions for dynamic programming: sums, maxima and minima of two or three integers, clamped at zero where a name ends in relu.
#pragma once

namespace __warpsmith {
template <class T> WARPSMITH_FN T greatest(T x, T y) { return x < y ? y : x; }
template <class T> WARPSMITH_FN T least(T x, T y) { return y < x ? y : x; }
}  // namespace __warpsmith

// A sum wraps around.
#define WARPSMITH_DPX(way, choose, I, suffix)                                                                                \
  WARPSMITH_FN I __vi##way##3_##suffix(I x, I y, I z) { return __warpsmith::choose(__warpsmith::choose(x, y), z); }          \
  WARPSMITH_FN I __viadd##way##_##suffix(I x, I y, I z) { return __warpsmith::choose((I)((unsigned int)x + (unsigned int)y), z); } \
  WARPSMITH_FN I __vib##way##_##suffix(I x, I y, bool* first) {                                                              \
    const I chosen = __warpsmith::choose(x, y);                                                                              \
    *first = chosen == x;                                                                                                    \
    return chosen;                                                                                                           \
  }
WARPSMITH_DPX(max, greatest, int, s32) WARPSMITH_DPX(max, greatest, unsigned int, u32)
WARPSMITH_DPX(min, least, int, s32) WARPSMITH_DPX(min, least, unsigned int, u32)
#undef WARPSMITH_DPX
#define WARPSMITH_DPX_RELU(way, choose)                                                                                     \
  WARPSMITH_FN int __vi##way##_s32_relu(int x, int y) { return __warpsmith::greatest(__warpsmith::choose(x, y), 0); }        \
  WARPSMITH_FN int __vi##way##3_s32_relu(int x, int y, int z) { return __warpsmith::greatest(__vi##way##3_s32(x, y, z), 0); } \
  WARPSMITH_FN int __viadd##way##_s32_relu(int x, int y, int z) { return __warpsmith::greatest(__viadd##way##_s32(x, y, z), 0); }
WARPSMITH_DPX_RELU(max, greatest) WARPSMITH_DPX_RELU(min, least)
#undef WARPSMITH_DPX_RELU
