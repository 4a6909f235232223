// Cooperative groups: the block, tiles of a warp, the active lanes of a warp, and the grid without its barrier.
//
// A tile never reaches past its warp: tiles above 32 threads are refused at compile time. Nothing here can synchronise a grid, so
// grid_group has no sync().
#pragma once

#include "warpsmith/push_macros.h"

namespace cooperative_groups {
namespace detail {
// Any trivially copyable value, word by word.
template <class T, class Move> WARPSMITH_FN T wordwise(T value, Move move) {
  if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
    return move(value);
  } else {
    constexpr int count = (int)(sizeof(T) + 3) / 4;
    unsigned int words[count] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int i = 0; i < count; ++i) words[i] = move(words[i]);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
  }
}
template <class T> WARPSMITH_FN T shuffle(T value, unsigned int lane) {
  return wordwise(value, [=](auto word) { return __warpsmith::shuffle(word, lane); });
}
WARPSMITH_FN unsigned int lanes_below() { return (1u << __warpsmith::lane_id()) - 1; }
// The lane of the n-th member.
WARPSMITH_FN unsigned int nth_lane(unsigned int members, unsigned int n) {
  for (; n > 0; --n) members &= members - 1;
  return members == 0 ? 0 : (unsigned int)__builtin_ctz(members);
}
// Members' bits, moved together.
WARPSMITH_FN unsigned int compact(unsigned int bits, unsigned int members) {
  unsigned int result = 0;
  for (int n = 0; members != 0; members &= members - 1, ++n) result |= (bits >> __builtin_ctz(members) & 1u) << n;
  return result;
}
}  // namespace detail

class thread_block {
 public:
  static WARPSMITH_METHOD void sync() { __syncthreads(); }
  static WARPSMITH_METHOD unsigned int thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static WARPSMITH_METHOD unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  static WARPSMITH_METHOD unsigned int num_threads() { return size(); }
  static WARPSMITH_METHOD dim3 group_index() { return blockIdx; }
  static WARPSMITH_METHOD dim3 thread_index() { return threadIdx; }
  static WARPSMITH_METHOD dim3 group_dim() { return blockDim; }
  static WARPSMITH_METHOD dim3 dim_threads() { return blockDim; }
};
WARPSMITH_FN thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  static WARPSMITH_METHOD unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static WARPSMITH_METHOD unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static WARPSMITH_METHOD unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static WARPSMITH_METHOD unsigned long long size() { return num_blocks() * thread_block::size(); }
  static WARPSMITH_METHOD unsigned long long num_threads() { return size(); }
  static WARPSMITH_METHOD dim3 block_index() { return blockIdx; }
  static WARPSMITH_METHOD dim3 dim_blocks() { return gridDim; }
  static WARPSMITH_METHOD dim3 group_dim() { return gridDim; }
  static WARPSMITH_METHOD bool is_valid() { return false; }
};
WARPSMITH_FN grid_group this_grid() { return {}; }

template <unsigned int Size, class Parent = void> class thread_block_tile {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile is 1, 2, 4, 8, 16 or 32 threads of one warp");
  static constexpr unsigned int all_ranks = Size == 32 ? ~0u : (1u << (Size & 31)) - 1;
  static WARPSMITH_METHOD unsigned int first_lane() { return __warpsmith::lane_id() & ~(Size - 1); }

 public:
  thread_block_tile() = default;
  // Functions take `thread_block_tile<32>` and are given a tile that knows its parent.
  template <class Other> WARPSMITH_METHOD thread_block_tile(const thread_block_tile<Size, Other>&) {}
  static WARPSMITH_METHOD void sync() { __syncwarp(); }
  static constexpr __attribute__((host, device)) unsigned int size() { return Size; }
  static constexpr __attribute__((host, device)) unsigned int num_threads() { return Size; }
  static WARPSMITH_METHOD unsigned int thread_rank() { return __warpsmith::lane_id() & (Size - 1); }
  static WARPSMITH_METHOD unsigned int meta_group_rank() { return thread_block::thread_rank() / Size; }
  static WARPSMITH_METHOD unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }

  template <class T> WARPSMITH_METHOD T shfl(T value, int rank) const {
    return detail::wordwise(value, [=](auto word) { return __warpsmith::shuffle_index(word, rank, Size); });
  }
  template <class T> WARPSMITH_METHOD T shfl_up(T value, unsigned int delta) const {
    return detail::wordwise(value, [=](auto word) { return __warpsmith::shuffle_up(word, delta, Size); });
  }
  template <class T> WARPSMITH_METHOD T shfl_down(T value, unsigned int delta) const {
    return detail::wordwise(value, [=](auto word) { return __warpsmith::shuffle_down(word, delta, Size); });
  }
  template <class T> WARPSMITH_METHOD T shfl_xor(T value, unsigned int mask) const {
    return detail::wordwise(value, [=](auto word) { return __warpsmith::shuffle_butterfly(word, (int)(mask & (Size - 1)), Size); });
  }
  WARPSMITH_METHOD unsigned int ballot(int predicate) const { return __warpsmith::ballot(predicate != 0) >> first_lane() & all_ranks; }
  WARPSMITH_METHOD int any(int predicate) const { return ballot(predicate) != 0; }
  WARPSMITH_METHOD int all(int predicate) const { return ballot(predicate == 0) == 0; }
  template <class T> WARPSMITH_METHOD unsigned int match_any(T value) const {
    return __match_any_sync(all_ranks << first_lane(), value) >> first_lane();
  }
  template <class T> WARPSMITH_METHOD unsigned int match_all(T value, int& same) const {
    return __match_all_sync(all_ranks << first_lane(), value, &same) >> first_lane();
  }
};

template <unsigned int Size, class Parent> WARPSMITH_FN thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }

class coalesced_group {
  unsigned int members;

 public:
  WARPSMITH_METHOD explicit coalesced_group(unsigned int members) : members(members) {}
  WARPSMITH_METHOD void sync() const { __syncwarp(); }
  WARPSMITH_METHOD unsigned int size() const { return (unsigned int)__popc(members); }
  WARPSMITH_METHOD unsigned int num_threads() const { return size(); }
  WARPSMITH_METHOD unsigned int thread_rank() const { return (unsigned int)__popc(members & detail::lanes_below()); }
  template <class T> WARPSMITH_METHOD T shfl(T value, int rank) const {
    return detail::shuffle(value, detail::nth_lane(members, (unsigned int)rank % size()));
  }
  template <class T> WARPSMITH_METHOD T shfl_up(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return detail::shuffle(value, detail::nth_lane(members, rank >= delta ? rank - delta : rank));
  }
  template <class T> WARPSMITH_METHOD T shfl_down(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return detail::shuffle(value, detail::nth_lane(members, delta < size() - rank ? rank + delta : rank));
  }
  WARPSMITH_METHOD unsigned int ballot(int predicate) const { return detail::compact(__warpsmith::ballot(predicate != 0), members); }
  WARPSMITH_METHOD int any(int predicate) const { return __any_sync(members, predicate); }
  WARPSMITH_METHOD int all(int predicate) const { return __all_sync(members, predicate); }
  template <class T> WARPSMITH_METHOD unsigned int match_any(T value) const {
    return detail::compact(__match_any_sync(members, value), members);
  }
};
WARPSMITH_FN coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
template <class Label> WARPSMITH_FN coalesced_group labeled_partition(const coalesced_group&, Label label) {
  return coalesced_group(__match_any_sync(__activemask(), label));
}
template <unsigned int Size, class Parent, class Label>
WARPSMITH_FN coalesced_group labeled_partition(const thread_block_tile<Size, Parent>& tile, Label label) {
  const unsigned int first = __warpsmith::lane_id() & ~(Size - 1);
  return coalesced_group(tile.match_any(label) << first);
}
template <class Group> WARPSMITH_FN coalesced_group binary_partition(const Group& group, bool predicate) {
  return labeled_partition(group, (int)predicate);
}

// The type-erased group of older code: a block, or a tile whose size is known only when it runs.
class thread_group {
  unsigned int tile;  // 0: the block

 public:
  WARPSMITH_METHOD explicit thread_group(unsigned int tile) : tile(tile) {}
  WARPSMITH_METHOD thread_group(const thread_block&) : tile(0) {}
  template <unsigned int Size, class Parent> WARPSMITH_METHOD thread_group(const thread_block_tile<Size, Parent>&) : tile(Size) {}
  WARPSMITH_METHOD unsigned int size() const { return tile == 0 ? thread_block::size() : tile; }
  WARPSMITH_METHOD unsigned int num_threads() const { return size(); }
  WARPSMITH_METHOD unsigned int thread_rank() const {
    return tile == 0 ? thread_block::thread_rank() : thread_block::thread_rank() % tile;
  }
  WARPSMITH_METHOD void sync() const {
    if (tile == 0) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
};
WARPSMITH_FN thread_group tiled_partition(const thread_group&, unsigned int size) { return thread_group(size); }

template <class Group> WARPSMITH_FN void sync(const Group& group) { group.sync(); }
template <class Group> WARPSMITH_FN auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> WARPSMITH_FN auto group_size(const Group& group) { return group.size(); }

// Function objects for reduce and scan.
#define WARPSMITH_OPERATION(name, ...) \
  template <class T> struct name { WARPSMITH_METHOD T operator()(T x, T y) const { return __VA_ARGS__; } };
WARPSMITH_OPERATION(plus, x + y) WARPSMITH_OPERATION(less, y < x ? y : x) WARPSMITH_OPERATION(greater, x < y ? y : x)
WARPSMITH_OPERATION(bit_and, x & y) WARPSMITH_OPERATION(bit_or, x | y) WARPSMITH_OPERATION(bit_xor, x ^ y)
#undef WARPSMITH_OPERATION

// Every member gets the result. Combined in rank order, so that an operation need not commute.
template <class Group, class T, class Operation> WARPSMITH_FN T reduce(const Group& group, T value, Operation operation) {
  const unsigned int rank = group.thread_rank(), size = group.size();
  for (unsigned int step = 1; step < size; step <<= 1) {
    const T other = group.shfl_down(value, step);
    if (rank + step < size) value = operation(value, other);
  }
  return group.shfl(value, 0);
}
template <class Group, class T, class Operation> WARPSMITH_FN T inclusive_scan(const Group& group, T value, Operation operation) {
  const unsigned int rank = group.thread_rank(), size = group.size();
  for (unsigned int step = 1; step < size; step <<= 1) {
    const T other = group.shfl_up(value, step);
    if (rank >= step) value = operation(other, value);
  }
  return value;
}
template <class Group, class T, class Operation> WARPSMITH_FN T exclusive_scan(const Group& group, T value, Operation operation) {
  const T other = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T() : other;
}
template <class Group, class T> WARPSMITH_FN T inclusive_scan(const Group& group, T value) { return inclusive_scan(group, value, plus<T>()); }
template <class Group, class T> WARPSMITH_FN T exclusive_scan(const Group& group, T value) { return exclusive_scan(group, value, plus<T>()); }
}  // namespace cooperative_groups

#include "warpsmith/pop_macros.h"
