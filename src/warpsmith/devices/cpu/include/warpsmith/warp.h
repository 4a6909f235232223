// Warp operations: shuffles, votes, matches, reductions, __syncwarp. A warp is a sub-group of 32 work-items.
//
// All of them are the instructions of spirv.h, by which the device knows that it must fix the sub-group size. Member masks matter only
// where the answer depends on them: the lanes of a sub-group run in step, so nobody has to be waited for.
#pragma once

namespace __warpsmith {
WARPSMITH_FN unsigned int lane_id() { return __builtin_spirv_subgroup_local_invocation_id(); }
// Of this warp: the last one of a block may be short.
WARPSMITH_FN unsigned int lane_count() { return __builtin_spirv_subgroup_size(); }
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
template <class T> WARPSMITH_FN T broadcast(T value, unsigned int lane) {
  return carrier<T>::unwrap(__spirv_GroupNonUniformBroadcast(scope_warp, carrier<T>::wrap(value), lane));
}
template <class T> WARPSMITH_FN T rotate(T value, unsigned int delta) {
  return carrier<T>::unwrap(__spirv_GroupNonUniformRotateKHR(scope_warp, carrier<T>::wrap(value), delta));
}
// A shuffle by an amount that all lanes agree on, as nearly every one is, is made of rotations and broadcasts: measured, 2 ns against
// 160 ns for the instruction that takes any lane. Asking whether they agree costs 4 ns, and nothing when it is a constant.
WARPSMITH_FN bool agreed(unsigned int amount) { return __spirv_GroupNonUniformAllEqual(scope_warp, amount); }

// The value of lane ^ bit, for one bit: the neighbour above or the one below.
template <class T> WARPSMITH_FN T exchange(T value, unsigned int bit) {
  const T above = rotate(value, bit), below = rotate(value, 32 - bit);
  return (lane_id() & bit) != 0 ? below : above;
}
template <class T> WARPSMITH_FN T shuffle_xor(T value, unsigned int mask) {
  if ((mask & (mask - 1)) == 0) return mask == 0 ? value : exchange(value, mask);
  for (unsigned int bit = 16; bit > 0; bit >>= 1) {
    if ((mask & bit) != 0) value = exchange(value, bit);
  }
  return value;
}

// A warp is cut into segments of `width` lanes; a source outside the lane's own segment means the lane itself.
template <class T> WARPSMITH_FN T shuffle_index(T value, int source, int width) {
  const unsigned int lane = lane_id(), inside = (unsigned int)width - 1, wanted = (unsigned int)source & inside;
  if (width >= 8 && agreed(wanted)) {
    T result = broadcast(value, wanted);
    for (unsigned int segment = (unsigned int)width; segment < 32; segment += (unsigned int)width) {
      const T other = broadcast(value, segment | wanted);
      if (lane >= segment) result = other;
    }
    return result;
  }
  return shuffle(value, (lane & ~inside & 31) | wanted);
}
template <class T> WARPSMITH_FN T shuffle_up(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id(), inside = (unsigned int)width - 1;
  const bool in_segment = (lane & inside) >= delta;
  if (agreed(delta)) {
    const T other = rotate(value, (32 - delta) & 31);
    return in_segment ? other : value;
  }
  return shuffle(value, in_segment ? lane - delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_down(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id(), inside = (unsigned int)width - 1;
  const bool in_segment = delta <= inside && (lane & inside) + delta <= inside;
  if (agreed(delta)) {
    const T other = rotate(value, delta & 31);
    return in_segment ? other : value;
  }
  return shuffle(value, in_segment ? lane + delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_butterfly(T value, int mask, int width) {
  const unsigned int lane = lane_id(), source = lane ^ (unsigned int)mask;
  const bool in_reach = source <= (lane | ((unsigned int)width - 1));
  if (agreed((unsigned int)mask)) {
    const T other = shuffle_xor(value, (unsigned int)mask & 31);
    return in_reach ? other : value;
  }
  return shuffle(value, in_reach ? source : lane);
}

// The lanes whose value equals this lane's: one round for each distinct value.
template <class T> WARPSMITH_FN unsigned int match(unsigned int members, T value) {
  unsigned int result = 0;
  for (unsigned int left = ballot(true); left != 0;) {
    const T candidate = broadcast(value, (unsigned int)__builtin_ctz(left));
    const unsigned int equal = ballot(value == candidate);
    if (value == candidate) result = equal;
    left &= ~equal;
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
  T result = broadcast(value, (unsigned int)__builtin_ctz(left));
  for (left &= left - 1; left != 0; left &= left - 1) result = operation(result, broadcast(value, (unsigned int)__builtin_ctz(left)));
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
  const auto first = __warpsmith::broadcast(raw, (unsigned int)__builtin_ctz(present));
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
