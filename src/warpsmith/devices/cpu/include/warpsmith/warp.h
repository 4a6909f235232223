// Warp operations: shuffles, votes, matches, reductions, __syncwarp. A warp is a sub-group of 32 work-items.
//
// All of them are the instructions of spirv.h, by which the device knows that it must fix the sub-group size. Member masks matter only
// where the answer depends on them: the lanes of a sub-group run in step, so nobody has to be waited for.
#pragma once

namespace __warpsmith {
WARPSMITH_FN unsigned int lane_id() { return __builtin_spirv_subgroup_local_invocation_id(); }
WARPSMITH_FN unsigned int ballot(bool predicate) { return __spirv_GroupNonUniformBallot(scope_warp, predicate)[0]; }

// A value of up to eight bytes travels as the instruction's type of its size.
template <class T> struct carrier {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
  using raw = bits<T>;
  using type = unsigned int;
  static WARPSMITH_METHOD type wrap(T value) { return (type)bit_cast<raw>(value); }
  static WARPSMITH_METHOD T unwrap(type value) { return bit_cast<T>((raw)value); }
};
template <class T> requires(sizeof(T) == 8) struct carrier<T> {
  using type = unsigned long;
  static WARPSMITH_METHOD type wrap(T value) { return bit_cast<type>(value); }
  static WARPSMITH_METHOD T unwrap(type value) { return bit_cast<T>(value); }
};
template <class F> struct plain_carrier {
  using type = F;
  static WARPSMITH_METHOD F wrap(F value) { return value; }
  static WARPSMITH_METHOD F unwrap(F value) { return value; }
};
template <> struct carrier<float> : plain_carrier<float> {};
template <> struct carrier<double> : plain_carrier<double> {};

template <class T> WARPSMITH_FN T shuffle(T value, unsigned int lane) {
  return carrier<T>::unwrap(__spirv_GroupNonUniformShuffle(scope_warp, carrier<T>::wrap(value), lane));
}
template <class T> WARPSMITH_FN T shuffle_xor(T value, unsigned int mask) {
  return carrier<T>::unwrap(__spirv_GroupNonUniformShuffleXor(scope_warp, carrier<T>::wrap(value), mask));
}

// A warp is cut into segments of `width` lanes; a source outside the lane's own segment means the lane itself.
template <class T> WARPSMITH_FN T shuffle_index(T value, int source, int width) {
  const unsigned int inside = (unsigned int)width - 1;
  return shuffle(value, (lane_id() & ~inside & 31) | ((unsigned int)source & inside));
}
template <class T> WARPSMITH_FN T shuffle_up(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id(), inside = (unsigned int)width - 1;
  return shuffle(value, (lane & inside) >= delta ? lane - delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_down(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id(), inside = (unsigned int)width - 1;
  return shuffle(value, (lane & inside) + delta <= inside && delta <= inside ? lane + delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_butterfly(T value, int mask, int width) {
  // The everyday call, a constant mask inside the warp, is one instruction.
  if (width == 32 && (unsigned int)mask < 32) return shuffle_xor(value, (unsigned int)mask);
  const unsigned int lane = lane_id(), last = lane | ((unsigned int)width - 1), source = lane ^ (unsigned int)mask;
  return shuffle(value, source <= last ? source : lane);
}

// The lanes whose value equals this lane's: one round for each distinct value.
template <class T> WARPSMITH_FN unsigned int match(unsigned int members, T value) {
  unsigned int result = 0;
  for (unsigned int left = ballot(true); left != 0;) {
    const T candidate = shuffle(value, (unsigned int)__builtin_ctz(left));
    const unsigned int equal = ballot(value == candidate);
    if (value == candidate) result = equal;
    left &= ~equal;
    if ((equal & ~0u) == 0) break;  // a value unequal to itself
  }
  return result & members;
}

// Over the lanes named in `members` that are there.
template <class T, class Operation> WARPSMITH_FN T reduce(unsigned int members, T value, Operation operation) {
  const unsigned int present = ballot(true) & members;
  if (present == 0xffffffffu) {
    for (unsigned int mask = 16; mask > 0; mask >>= 1) value = operation(value, shuffle_xor(value, mask));
    return value;
  }
  unsigned int left = present;
  if (left == 0) return value;
  T result = shuffle(value, (unsigned int)__builtin_ctz(left));
  for (left &= left - 1; left != 0; left &= left - 1) result = operation(result, shuffle(value, (unsigned int)__builtin_ctz(left)));
  return result;
}
}  // namespace __warpsmith

template <class T> WARPSMITH_FN T __shfl_sync(unsigned int, T value, int lane, int width = warpSize) {
  return __warpsmith::shuffle_index(value, lane, width);
}
template <class T> WARPSMITH_FN T __shfl_up_sync(unsigned int, T value, unsigned int delta, int width = warpSize) {
  return __warpsmith::shuffle_up(value, delta, width);
}
template <class T> WARPSMITH_FN T __shfl_down_sync(unsigned int, T value, unsigned int delta, int width = warpSize) {
  return __warpsmith::shuffle_down(value, delta, width);
}
template <class T> WARPSMITH_FN T __shfl_xor_sync(unsigned int, T value, int mask, int width = warpSize) {
  return __warpsmith::shuffle_butterfly(value, mask, width);
}
template <class T> WARPSMITH_FN T __shfl(T value, int lane, int width = warpSize) { return __warpsmith::shuffle_index(value, lane, width); }
template <class T> WARPSMITH_FN T __shfl_up(T value, unsigned int delta, int width = warpSize) {
  return __warpsmith::shuffle_up(value, delta, width);
}
template <class T> WARPSMITH_FN T __shfl_down(T value, unsigned int delta, int width = warpSize) {
  return __warpsmith::shuffle_down(value, delta, width);
}
template <class T> WARPSMITH_FN T __shfl_xor(T value, int mask, int width = warpSize) {
  return __warpsmith::shuffle_butterfly(value, mask, width);
}

WARPSMITH_FN unsigned int __activemask() { return __warpsmith::ballot(true); }
WARPSMITH_FN unsigned int __ballot_sync(unsigned int members, int predicate) { return __warpsmith::ballot(predicate != 0) & members; }
WARPSMITH_FN int __any_sync(unsigned int members, int predicate) { return (__warpsmith::ballot(predicate != 0) & members) != 0; }
WARPSMITH_FN int __all_sync(unsigned int members, int predicate) { return (__warpsmith::ballot(predicate == 0) & members) == 0; }
WARPSMITH_FN int __uni_sync(unsigned int members, int predicate) {
  return __all_sync(members, predicate) || !__any_sync(members, predicate);
}
WARPSMITH_FN int __any(int predicate) { return __warpsmith::ballot(predicate != 0) != 0; }
WARPSMITH_FN int __all(int predicate) { return __warpsmith::ballot(predicate == 0) == 0; }
#ifdef WARPSMITH_HIP
WARPSMITH_FN unsigned long long __ballot(int predicate) { return __warpsmith::ballot(predicate != 0); }
#else
WARPSMITH_FN unsigned int __ballot(int predicate) { return __warpsmith::ballot(predicate != 0); }
#endif

WARPSMITH_FN void __syncwarp(unsigned int = 0xffffffffu) {
  __spirv_ControlBarrier(__warpsmith::scope_warp, __warpsmith::scope_warp, __warpsmith::fence_all);
}

template <class T> WARPSMITH_FN unsigned int __match_any_sync(unsigned int members, T value) {
  return __warpsmith::match(members, __warpsmith::bit_cast<__warpsmith::bits<T>>(value));
}
template <class T> WARPSMITH_FN unsigned int __match_all_sync(unsigned int members, T value, int* all) {
  const auto raw = __warpsmith::bit_cast<__warpsmith::bits<T>>(value);
  const unsigned int present = __warpsmith::ballot(true) & members;
  const auto first = __warpsmith::shuffle(raw, (unsigned int)__builtin_ctz(present));
  *all = (__warpsmith::ballot(raw != first) & members) == 0;
  return *all ? members : 0;
}

#define WARPSMITH_REDUCE(name, T, ...) \
  WARPSMITH_FN T name(unsigned int members, T value) { \
    return __warpsmith::reduce(members, value, [](T a, T b) { return (T)(__VA_ARGS__); }); \
  }
WARPSMITH_REDUCE(__reduce_add_sync, unsigned int, a + b)
WARPSMITH_REDUCE(__reduce_min_sync, unsigned int, a < b ? a : b)
WARPSMITH_REDUCE(__reduce_max_sync, unsigned int, a > b ? a : b)
WARPSMITH_REDUCE(__reduce_add_sync, int, (unsigned int)a + (unsigned int)b)
WARPSMITH_REDUCE(__reduce_min_sync, int, a < b ? a : b)
WARPSMITH_REDUCE(__reduce_max_sync, int, a > b ? a : b)
WARPSMITH_REDUCE(__reduce_and_sync, unsigned int, a & b)
WARPSMITH_REDUCE(__reduce_or_sync, unsigned int, a | b)
WARPSMITH_REDUCE(__reduce_xor_sync, unsigned int, a ^ b)
#undef WARPSMITH_REDUCE
