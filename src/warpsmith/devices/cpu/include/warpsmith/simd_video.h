// SIMD within a word: __vadd4, __vabsdiffu4, __vmaxs2 … Each is a loop over the lanes of a 32-bit register that LLVM unrolls.
//
// They are templates only so that the hundred of them cost nothing in a kernel that uses none.
#pragma once

namespace __warpsmith {
namespace lane_operation {
#define WARPSMITH_OPERATION(name, ...) \
  struct name { static WARPSMITH_METHOD int apply(int x, int y) { return __VA_ARGS__; } };
WARPSMITH_OPERATION(add, x + y) WARPSMITH_OPERATION(sub, x - y)
WARPSMITH_OPERATION(max, x > y ? x : y) WARPSMITH_OPERATION(min, x < y ? x : y)
WARPSMITH_OPERATION(absdiff, x > y ? x - y : y - x) WARPSMITH_OPERATION(abs, x < 0 ? -x : x) WARPSMITH_OPERATION(neg, -x)
WARPSMITH_OPERATION(avg, (x + y + (x + y >= 0)) >> 1) WARPSMITH_OPERATION(hadd, (x + y) >> 1)
WARPSMITH_OPERATION(eq, x == y) WARPSMITH_OPERATION(ne, x != y) WARPSMITH_OPERATION(ge, x >= y)
WARPSMITH_OPERATION(gt, x > y) WARPSMITH_OPERATION(le, x <= y) WARPSMITH_OPERATION(lt, x < y)
#undef WARPSMITH_OPERATION
}  // namespace lane_operation

enum class lane_result { wrap, saturate, mask };

template <class S> WARPSMITH_FN int clamp_to(int x) {
  constexpr int highest = (S)-1 < 0 ? (1 << (8 * sizeof(S) - 1)) - 1 : (1 << (8 * sizeof(S))) - 1;
  constexpr int lowest = (S)-1 < 0 ? -highest - 1 : 0;
  return x < lowest ? lowest : x > highest ? highest : x;
}

// Lanes of type S in a word.
template <class S, class Operation, lane_result kind> WARPSMITH_FN unsigned int lanes(unsigned int a, unsigned int b) {
  constexpr int width = 8 * sizeof(S);
  unsigned int result = 0;
  for (int i = 0; i < 32; i += width) {
    int lane = Operation::apply((int)(S)(a >> i), (int)(S)(b >> i));
    if (kind == lane_result::saturate) lane = clamp_to<S>(lane);
    if (kind == lane_result::mask) lane = -lane;
    result |= ((unsigned int)lane & ((1u << width) - 1)) << i;
  }
  return result;
}
template <class S> WARPSMITH_FN unsigned int lanes_distance(unsigned int a, unsigned int b) {
  unsigned int sum = 0;
  for (int i = 0; i < 32; i += 8 * (int)sizeof(S)) sum += (unsigned int)lane_operation::absdiff::apply((S)(a >> i), (S)(b >> i));
  return sum;
}
}  // namespace __warpsmith

#define WARPSMITH_LANES_2(name, S, operation, kind)                                              \
  template <int = 0> WARPSMITH_FN unsigned int name(unsigned int a, unsigned int b) {  \
    return __warpsmith::lanes<S, __warpsmith::lane_operation::operation, __warpsmith::lane_result::kind>(a, b); \
  }
#define WARPSMITH_LANES_1(name, S, operation, kind)                                              \
  template <int = 0> WARPSMITH_FN unsigned int name(unsigned int a) {                  \
    return __warpsmith::lanes<S, __warpsmith::lane_operation::operation, __warpsmith::lane_result::kind>(a, 0); \
  }
#define WARPSMITH_LANES_SAD(name, S)                                                             \
  template <int = 0> WARPSMITH_FN unsigned int name(unsigned int a, unsigned int b) {  \
    return __warpsmith::lanes_distance<S>(a, b);                                                 \
  }
// Comparisons: __vcmpXX gives a mask a lane, __vsetXX gives 1.
#define WARPSMITH_LANES_COMPARE(operation, sign, n, S)                                           \
  WARPSMITH_LANES_2(__vcmp##operation##sign##n, S, operation, mask)                              \
  WARPSMITH_LANES_2(__vset##operation##sign##n, S, operation, wrap)
#define WARPSMITH_LANES_OF(n, S, U)                                                              \
  WARPSMITH_LANES_2(__vadd##n, U, add, wrap)                                                     \
  WARPSMITH_LANES_2(__vaddss##n, S, add, saturate)                                               \
  WARPSMITH_LANES_2(__vaddus##n, U, add, saturate)                                               \
  WARPSMITH_LANES_2(__vsub##n, U, sub, wrap)                                                     \
  WARPSMITH_LANES_2(__vsubss##n, S, sub, saturate)                                               \
  WARPSMITH_LANES_2(__vsubus##n, U, sub, saturate)                                               \
  WARPSMITH_LANES_2(__vmaxs##n, S, max, wrap)                                                    \
  WARPSMITH_LANES_2(__vmaxu##n, U, max, wrap)                                                    \
  WARPSMITH_LANES_2(__vmins##n, S, min, wrap)                                                    \
  WARPSMITH_LANES_2(__vminu##n, U, min, wrap)                                                    \
  WARPSMITH_LANES_2(__vabsdiffs##n, S, absdiff, wrap)                                            \
  WARPSMITH_LANES_2(__vabsdiffu##n, U, absdiff, wrap)                                            \
  WARPSMITH_LANES_2(__vavgs##n, S, avg, wrap)                                                    \
  WARPSMITH_LANES_2(__vavgu##n, U, avg, wrap)                                                    \
  WARPSMITH_LANES_2(__vhaddu##n, U, hadd, wrap)                                                  \
  WARPSMITH_LANES_1(__vabs##n, S, abs, wrap)                                                     \
  WARPSMITH_LANES_1(__vabsss##n, S, abs, saturate)                                               \
  WARPSMITH_LANES_1(__vneg##n, S, neg, wrap)                                                     \
  WARPSMITH_LANES_1(__vnegss##n, S, neg, saturate)                                               \
  WARPSMITH_LANES_SAD(__vsads##n, S)                                                             \
  WARPSMITH_LANES_SAD(__vsadu##n, U)                                                             \
  WARPSMITH_LANES_COMPARE(eq, , n, U)                                                            \
  WARPSMITH_LANES_COMPARE(ne, , n, U)                                                            \
  WARPSMITH_LANES_COMPARE(ge, s, n, S)                                                           \
  WARPSMITH_LANES_COMPARE(ge, u, n, U)                                                           \
  WARPSMITH_LANES_COMPARE(gt, s, n, S)                                                           \
  WARPSMITH_LANES_COMPARE(gt, u, n, U)                                                           \
  WARPSMITH_LANES_COMPARE(le, s, n, S)                                                           \
  WARPSMITH_LANES_COMPARE(le, u, n, U)                                                           \
  WARPSMITH_LANES_COMPARE(lt, s, n, S)                                                           \
  WARPSMITH_LANES_COMPARE(lt, u, n, U)
WARPSMITH_LANES_OF(4, signed char, unsigned char)
WARPSMITH_LANES_OF(2, short, unsigned short)
#undef WARPSMITH_LANES_OF
#undef WARPSMITH_LANES_COMPARE
#undef WARPSMITH_LANES_SAD
#undef WARPSMITH_LANES_1
#undef WARPSMITH_LANES_2
