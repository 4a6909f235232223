// Warp operations on AMD GPUs: any lane's register through the LDS crossbar (ds_bpermute), as HIP's own do it; votes by ballot.
//
// For HIP a warp is the wave, and masks have 64 bits. CUDA code counts on 32 lanes and 32-bit masks: a wave of 64 is two warps.
#pragma once

namespace __warpsmith {
#ifdef WARPSMITH_HIP
using lane_mask = unsigned long long;
#else
using lane_mask = unsigned int;
#endif

WARPSMITH_FN unsigned int wave_lane() {
  const unsigned int low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return WARPSMITH_WAVE == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low;
}
WARPSMITH_FN unsigned int lane_id() { return wave_lane() & (warpSize - 1); }
// Of this warp: the last one of a block may be short.
WARPSMITH_FN unsigned int lane_count() {
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned int left = blockDim.x * blockDim.y * blockDim.z - (thread - lane_id());
  return left < warpSize ? left : warpSize;
}
WARPSMITH_FN lane_mask ballot(bool predicate) {
#if WARPSMITH_WAVE == 64
  const unsigned long long wave = __builtin_amdgcn_ballot_w64(predicate);
  return (lane_mask)(warpSize == 64 ? wave : wave >> (wave_lane() & 32));
#else
  return __builtin_amdgcn_ballot_w32(predicate);
#endif
}
WARPSMITH_FN int first_lane(lane_mask lanes) { return __builtin_ctzll(lanes); }

// The value of lane `lane` of this warp.
template <class T> WARPSMITH_FN T shuffle(T value, unsigned int lane) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
  const int source = (int)(((wave_lane() & ~(warpSize - 1u)) | (lane & (warpSize - 1u))) << 2);
  if constexpr (sizeof(T) == 8) {
    const unsigned long long raw = bit_cast<unsigned long long>(value);
    const unsigned int low = (unsigned int)__builtin_amdgcn_ds_bpermute(source, (int)raw);
    const unsigned int high = (unsigned int)__builtin_amdgcn_ds_bpermute(source, (int)(raw >> 32));
    return bit_cast<T>((unsigned long long)high << 32 | low);
  } else {
    return bit_cast<T>((bits<T>)__builtin_amdgcn_ds_bpermute(source, (int)bit_cast<bits<T>>(value)));
  }
}
template <class T> WARPSMITH_FN T broadcast(T value, unsigned int lane) { return shuffle(value, lane); }
template <class T> WARPSMITH_FN T rotate(T value, unsigned int delta) { return shuffle(value, lane_id() + delta); }
template <class T> WARPSMITH_FN T shuffle_xor(T value, unsigned int mask) { return shuffle(value, lane_id() ^ mask); }

// A warp is cut into segments of `width` lanes; a source outside the lane's own segment means the lane itself.
template <class T> WARPSMITH_FN T shuffle_index(T value, int source, int width) {
  const unsigned int inside = (unsigned int)width - 1;
  return shuffle(value, (lane_id() & ~inside) | ((unsigned int)source & inside));
}
template <class T> WARPSMITH_FN T shuffle_up(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id();
  return shuffle(value, (lane & (width - 1u)) >= delta ? lane - delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_down(T value, unsigned int delta, int width) {
  const unsigned int lane = lane_id();
  return shuffle(value, (lane & (width - 1u)) + delta < (unsigned int)width ? lane + delta : lane);
}
template <class T> WARPSMITH_FN T shuffle_butterfly(T value, int mask, int width) {
  const unsigned int lane = lane_id(), source = lane ^ (unsigned int)mask;
  return shuffle(value, source <= (lane | (width - 1u)) ? source : lane);
}

// The lanes whose value equals this lane's: one round for each distinct value.
template <class T> WARPSMITH_FN lane_mask match(lane_mask members, T value) {
  lane_mask result = 0;
  for (lane_mask left = ballot(true); left != 0;) {
    const T candidate = broadcast(value, first_lane(left));
    const lane_mask equal = ballot(value == candidate);
    if (value == candidate) result = equal;
    left &= ~equal;
  }
  return result & members;
}
template <class T, class Operation> WARPSMITH_FN T reduce(lane_mask members, T value, Operation operation) {
  lane_mask left = ballot(true) & members;
  if (left == 0) return value;
  T result = broadcast(value, first_lane(left));
  for (left &= left - 1; left != 0; left &= left - 1) result = operation(result, broadcast(value, first_lane(left)));
  return result;
}
}  // namespace __warpsmith

#define WARPSMITH_SHUFFLE(name, source_type, function)                                                                        \
  template <class M, class T> WARPSMITH_FN T name##_sync(M, T value, source_type source, int width = warpSize) {              \
    return __warpsmith::function(value, source, width);                                                                       \
  }                                                                                                                           \
  template <class T> WARPSMITH_FN T name(T value, source_type source, int width = warpSize) {                                 \
    return __warpsmith::function(value, source, width);                                                                       \
  }
WARPSMITH_SHUFFLE(__shfl, int, shuffle_index)
WARPSMITH_SHUFFLE(__shfl_up, unsigned int, shuffle_up)
WARPSMITH_SHUFFLE(__shfl_down, unsigned int, shuffle_down)
WARPSMITH_SHUFFLE(__shfl_xor, int, shuffle_butterfly)
#undef WARPSMITH_SHUFFLE

WARPSMITH_FN __warpsmith::lane_mask __activemask() { return __warpsmith::ballot(true); }
WARPSMITH_FN __warpsmith::lane_mask __ballot(int predicate) { return __warpsmith::ballot(predicate != 0); }
WARPSMITH_FN int __any(int predicate) { return __warpsmith::ballot(predicate != 0) != 0; }
WARPSMITH_FN int __all(int predicate) { return __warpsmith::ballot(predicate == 0) == 0; }
WARPSMITH_FN __warpsmith::lane_mask __ballot_sync(__warpsmith::lane_mask members, int predicate) { return __ballot(predicate) & members; }
WARPSMITH_FN int __any_sync(__warpsmith::lane_mask members, int predicate) { return __ballot_sync(members, predicate) != 0; }
WARPSMITH_FN int __all_sync(__warpsmith::lane_mask members, int predicate) { return __ballot_sync(members, predicate == 0) == 0; }
WARPSMITH_FN void __syncwarp(__warpsmith::lane_mask = ~__warpsmith::lane_mask(0)) {
  __spirv_ControlBarrier(__warpsmith::scope_warp, __warpsmith::scope_warp, __warpsmith::fence_all);
}
template <class T> WARPSMITH_FN __warpsmith::lane_mask __match_any_sync(__warpsmith::lane_mask members, T value) {
  return __warpsmith::match(members, __warpsmith::bit_cast<__warpsmith::bits<T>>(value));
}

#define WARPSMITH_REDUCE(name, T, ...)                                                       \
  WARPSMITH_FN T name(__warpsmith::lane_mask members, T value) {                             \
    return __warpsmith::reduce(members, value, [](T a, T b) { return (T)(__VA_ARGS__); });   \
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
