// cub's collectives that move items: BlockLoad, BlockStore, BlockExchange, BlockDiscontinuity, BlockRadixSort.
//
// Items are blocked (thread t has items t·I … t·I+I−1) unless a name says striped (t, t+threads, …). Which algorithm is asked for
// makes no difference to the result, except for BLOCK_LOAD_STRIPED and its twin.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/cub_scan.h"

namespace cub {
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace detail {
template <int Threads, int Items, bool Striped> WARPSMITH_FN int item(int i) { return Striped ? i * Threads + rank() : rank() * Items + i; }
}  // namespace detail

template <class T, int BlockX, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int BlockY = 1, int BlockZ = 1, int = 0>
class BlockLoad {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  static constexpr bool striped = Algorithm == BLOCK_LOAD_STRIPED;

 public:
  struct alignas(16) TempStorage {};
  WARPSMITH_METHOD BlockLoad(TempStorage&) {}
  WARPSMITH_METHOD BlockLoad() {}
  template <class Source> WARPSMITH_METHOD void Load(Source from, T (&items)[Items]) {
    for (int i = 0; i < Items; ++i) items[i] = from[detail::item<threads, Items, striped>(i)];
  }
  template <class Source> WARPSMITH_METHOD void Load(Source from, T (&items)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (const int place = detail::item<threads, Items, striped>(i); place < valid) items[i] = from[place];
    }
  }
  template <class Source, class Default> WARPSMITH_METHOD void Load(Source from, T (&items)[Items], int valid, Default otherwise) {
    for (int i = 0; i < Items; ++i) items[i] = (T)otherwise;
    Load(from, items, valid);
  }
};

template <class T, int BlockX, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int BlockY = 1, int BlockZ = 1, int = 0>
class BlockStore {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  static constexpr bool striped = Algorithm == BLOCK_STORE_STRIPED;

 public:
  struct alignas(16) TempStorage {};
  WARPSMITH_METHOD BlockStore(TempStorage&) {}
  WARPSMITH_METHOD BlockStore() {}
  template <class Target> WARPSMITH_METHOD void Store(Target to, T (&items)[Items]) { Store(to, items, threads * Items); }
  template <class Target> WARPSMITH_METHOD void Store(Target to, T (&items)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (const int place = detail::item<threads, Items, striped>(i); place < valid) to[place] = items[i];
    }
  }
};

template <class T, int BlockX, int Items, bool = false, int BlockY = 1, int BlockZ = 1, int = 0> class BlockExchange {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  T* buffer;

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char buffer[threads * Items * sizeof(T)]; };
  WARPSMITH_METHOD BlockExchange(TempStorage& storage) : buffer((T*)storage.buffer) {}
  WARPSMITH_METHOD void StripedToBlocked(const T (&from)[Items], T (&to)[Items]) { move<true, false>(from, to); }
  WARPSMITH_METHOD void BlockedToStriped(const T (&from)[Items], T (&to)[Items]) { move<false, true>(from, to); }
  template <class Rank> WARPSMITH_METHOD void ScatterToBlocked(const T (&from)[Items], T (&to)[Items], Rank (&ranks)[Items]) {
    scatter<false>(from, to, ranks);
  }
  template <class Rank> WARPSMITH_METHOD void ScatterToStriped(const T (&from)[Items], T (&to)[Items], Rank (&ranks)[Items]) {
    scatter<true>(from, to, ranks);
  }

 private:
  template <bool From, bool To> WARPSMITH_METHOD void move(const T (&from)[Items], T (&to)[Items]) {
    int places[Items];
    for (int i = 0; i < Items; ++i) places[i] = detail::item<threads, Items, From>(i);
    scatter<To>(from, to, places);
  }
  template <bool To, class Rank> WARPSMITH_METHOD void scatter(const T (&from)[Items], T (&to)[Items], Rank (&places)[Items]) {
    for (int i = 0; i < Items; ++i) buffer[places[i]] = from[i];
    __syncthreads();
    for (int i = 0; i < Items; ++i) to[i] = buffer[detail::item<threads, Items, To>(i)];
  }
};

template <class T, int BlockX, int BlockY = 1, int BlockZ = 1, int = 0> class BlockDiscontinuity {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  T* edges;

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char edges[threads * sizeof(T)]; };
  WARPSMITH_METHOD BlockDiscontinuity(TempStorage& storage) : edges((T*)storage.edges) {}
  // The block's first item is a head, its last one a tail.
  template <int Items, class Flag, class Operation>
  WARPSMITH_METHOD void FlagHeads(Flag (&heads)[Items], T (&items)[Items], Operation differ) {
    edges[detail::rank()] = items[Items - 1];
    __syncthreads();
    heads[0] = detail::rank() == 0 ? 1 : differ(edges[detail::rank() - 1], items[0]);
    for (int i = 1; i < Items; ++i) heads[i] = differ(items[i - 1], items[i]);
  }
  template <int Items, class Flag, class Operation>
  WARPSMITH_METHOD void FlagTails(Flag (&tails)[Items], T (&items)[Items], Operation differ) {
    edges[detail::rank()] = items[0];
    __syncthreads();
    tails[Items - 1] = detail::rank() == threads - 1 ? 1 : differ(items[Items - 1], edges[detail::rank() + 1]);
    for (int i = 0; i + 1 < Items; ++i) tails[i] = differ(items[i], items[i + 1]);
  }
};

// Stable, one bit a round: keys with a zero move to the front, in order.
template <class Key, int BlockX, int Items, class Value = NullType, int = 4, bool = true, BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS,
          int = 0, int BlockY = 1, int BlockZ = 1, int = 0>
class BlockRadixSort {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  using Scan = BlockScan<int, BlockX, BLOCK_SCAN_WARP_SCANS, BlockY, BlockZ>;
  using Raw = __warpsmith::bits<Key>;
  static constexpr Raw top = (Raw)((Raw)1 << (sizeof(Key) * 8 - 1));

 public:
  struct alignas(16) alignas(Value) TempStorage {
    typename Scan::TempStorage scan;
    Raw keys[threads * Items];
    alignas(Value) unsigned char values[threads * Items * sizeof(Value)];
  };
  WARPSMITH_METHOD BlockRadixSort(TempStorage& storage) : storage(storage) {}
  WARPSMITH_METHOD BlockRadixSort() : BlockRadixSort(own_storage()) {}

  WARPSMITH_METHOD void Sort(Key (&keys)[Items], int first = 0, int end = sizeof(Key) * 8) { run<false, false>(keys, none(), first, end); }
  WARPSMITH_METHOD void Sort(Key (&keys)[Items], Value (&values)[Items], int first = 0, int end = sizeof(Key) * 8) {
    run<false, false>(keys, values, first, end);
  }
  WARPSMITH_METHOD void SortDescending(Key (&keys)[Items], int first = 0, int end = sizeof(Key) * 8) {
    run<true, false>(keys, none(), first, end);
  }
  WARPSMITH_METHOD void SortDescending(Key (&keys)[Items], Value (&values)[Items], int first = 0, int end = sizeof(Key) * 8) {
    run<true, false>(keys, values, first, end);
  }
  WARPSMITH_METHOD void SortBlockedToStriped(Key (&keys)[Items], int first = 0, int end = sizeof(Key) * 8) {
    run<false, true>(keys, none(), first, end);
  }
  WARPSMITH_METHOD void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int first = 0, int end = sizeof(Key) * 8) {
    run<false, true>(keys, values, first, end);
  }
  WARPSMITH_METHOD void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int first = 0,
                                                       int end = sizeof(Key) * 8) {
    run<true, true>(keys, values, first, end);
  }

 private:
  TempStorage& storage;
  struct NoValues { WARPSMITH_METHOD Value operator[](int) const { return {}; } };
  static WARPSMITH_METHOD NoValues none() { return {}; }
  static WARPSMITH_METHOD TempStorage& own_storage() {
    static __shared__ TempStorage storage;
    return storage;
  }

  // Bits whose unsigned order is the keys' order.
  static constexpr bool is_float = !__is_integral(Key);
  static constexpr bool is_signed = __is_integral(Key) && (Key)-1 < (Key)1;
  template <bool Descending> static WARPSMITH_METHOD Raw to_bits(Key key) {
    Raw raw = __warpsmith::bit_cast<Raw>(key);
    if constexpr (is_float) raw ^= (raw & top) != 0 ? (Raw)~(Raw)0 : top;
    else if constexpr (is_signed) raw ^= top;
    return Descending ? (Raw)~raw : raw;
  }
  template <bool Descending> static WARPSMITH_METHOD Key from_bits(Raw raw) {
    if (Descending) raw = (Raw)~raw;
    if constexpr (is_float) raw ^= (raw & top) != 0 ? top : (Raw)~(Raw)0;
    else if constexpr (is_signed) raw ^= top;
    return __warpsmith::bit_cast<Key>(raw);
  }

  template <bool Descending, bool ToStriped, class Values> WARPSMITH_METHOD void run(Key (&keys)[Items], Values&& values, int first, int end) {
    constexpr bool has_values = !__is_same(Value, NullType) && !__is_same(__remove_cvref(Values), NoValues);
    Value* moved = (Value*)storage.values;
    Raw raw[Items];
    for (int i = 0; i < Items; ++i) raw[i] = to_bits<Descending>(keys[i]);
    for (int bit = first; bit < end; ++bit) {
      int zeros = 0, before, all;
      for (int i = 0; i < Items; ++i) zeros += (raw[i] >> bit & 1) == 0;
      Scan(storage.scan).ExclusiveSum(zeros, before, all);
      int ones = all + detail::rank() * Items - before;
      for (int i = 0; i < Items; ++i) {
        const int place = (raw[i] >> bit & 1) == 0 ? before++ : ones++;
        storage.keys[place] = raw[i];
        if constexpr (has_values) moved[place] = values[i];
      }
      __syncthreads();
      const bool striped = ToStriped && bit + 1 == end;
      for (int i = 0; i < Items; ++i) {
        const int place = striped ? detail::item<threads, Items, true>(i) : detail::item<threads, Items, false>(i);
        raw[i] = storage.keys[place];
        if constexpr (has_values) values[i] = moved[place];
      }
      __syncthreads();
    }
    for (int i = 0; i < Items; ++i) keys[i] = from_bits<Descending>(raw[i]);
  }
};
}  // namespace cub

#include "warpsmith/pop_macros.h"
