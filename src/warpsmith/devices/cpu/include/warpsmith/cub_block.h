// The less common block collectives of cub: BlockShuffle, BlockAdjacentDifference, BlockHistogram, BlockMergeSort.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/cub_move.h"

namespace cub {
template <class T, int BlockX, int BlockY = 1, int BlockZ = 1, int = 0> class BlockShuffle {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  T* buffer;

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char buffer[threads * sizeof(T)]; };
  WARPSMITH_METHOD BlockShuffle(TempStorage& storage) : buffer((T*)storage.buffer) {}
  // A thread whose partner lies outside the block keeps what it has.
  WARPSMITH_METHOD void Offset(T value, T& result, int distance = 1) {
    publish(value);
    const int from = detail::rank() + distance;
    if (from >= 0 && from < threads) result = buffer[from];
  }
  WARPSMITH_METHOD void Rotate(T value, T& result, unsigned int distance = 1) {
    publish(value);
    result = buffer[(detail::rank() + distance) % threads];
  }
  template <int Items> WARPSMITH_METHOD void Up(T (&in)[Items], T (&out)[Items]) {
    publish(in[Items - 1]);
    for (int i = Items - 1; i > 0; --i) out[i] = in[i - 1];
    if (detail::rank() > 0) out[0] = buffer[detail::rank() - 1];
  }
  template <int Items> WARPSMITH_METHOD void Down(T (&in)[Items], T (&out)[Items]) {
    publish(in[0]);
    for (int i = 0; i + 1 < Items; ++i) out[i] = in[i + 1];
    if (detail::rank() < threads - 1) out[Items - 1] = buffer[detail::rank() + 1];
  }

 private:
  WARPSMITH_METHOD void publish(T value) {
    buffer[detail::rank()] = value;
    __syncthreads();
  }
};

template <class T, int BlockX, int BlockY = 1, int BlockZ = 1, int = 0> class BlockAdjacentDifference {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  T* edges;

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char edges[threads * sizeof(T)]; };
  WARPSMITH_METHOD BlockAdjacentDifference(TempStorage& storage) : edges((T*)storage.edges) {}
  // The block's first item has no left neighbour unless one is given, its last no right one: they stay as they are.
  template <int Items, class Out, class Operation>
  WARPSMITH_METHOD void SubtractLeft(T (&in)[Items], Out (&out)[Items], Operation difference) {
    left(in, out, difference, in[0], false);
  }
  template <int Items, class Out, class Operation>
  WARPSMITH_METHOD void SubtractLeft(T (&in)[Items], Out (&out)[Items], Operation difference, T predecessor) {
    left(in, out, difference, predecessor, true);
  }
  template <int Items, class Out, class Operation>
  WARPSMITH_METHOD void SubtractRight(T (&in)[Items], Out (&out)[Items], Operation difference) {
    const T first = in[0];
    edges[detail::rank()] = first;
    __syncthreads();
    for (int i = 0; i + 1 < Items; ++i) out[i] = difference(in[i], in[i + 1]);
    const bool is_last = detail::rank() == threads - 1;
    out[Items - 1] = is_last ? (Out)in[Items - 1] : (Out)difference(in[Items - 1], edges[is_last ? 0 : detail::rank() + 1]);
  }

 private:
  template <int Items, class Out, class Operation>
  WARPSMITH_METHOD void left(T (&in)[Items], Out (&out)[Items], Operation difference, T predecessor, bool has_one) {
    edges[detail::rank()] = in[Items - 1];
    __syncthreads();
    // From the end, for `in` may be `out`.
    for (int i = Items - 1; i > 0; --i) out[i] = difference(in[i], in[i - 1]);
    const bool is_first = detail::rank() == 0;
    T neighbour = is_first ? predecessor : edges[is_first ? 0 : detail::rank() - 1];
    out[0] = is_first && !has_one ? (Out)in[0] : (Out)difference(in[0], neighbour);
  }
};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
template <class T, int BlockX, int Items, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int BlockY = 1, int BlockZ = 1, int = 0>
class BlockHistogram {
  static constexpr int threads = BlockX * BlockY * BlockZ;

 public:
  struct alignas(16) TempStorage {};
  WARPSMITH_METHOD BlockHistogram(TempStorage&) {}
  template <class Counter> WARPSMITH_METHOD void InitHistogram(Counter (&bins)[Bins]) {
    for (int bin = detail::rank(); bin < Bins; bin += threads) bins[bin] = 0;
  }
  template <class Counter> WARPSMITH_METHOD void Composite(T (&items)[Items], Counter (&bins)[Bins]) {
    for (int i = 0; i < Items; ++i) atomicAdd(&bins[items[i]], (Counter)1);
  }
  template <class Counter> WARPSMITH_METHOD void Histogram(T (&items)[Items], Counter (&bins)[Bins]) {
    InitHistogram(bins);
    __syncthreads();
    Composite(items, bins);
  }
};

// Stable: an item's place is the number of items that come before it. Quadratic, but without a step that threads could disagree on.
template <class Key, int BlockX, int Items, class Value = NullType, int BlockY = 1, int BlockZ = 1> class BlockMergeSort {
  static constexpr int threads = BlockX * BlockY * BlockZ;
  Key* keys;
  Value* values;

 public:
  struct alignas(16) alignas(Key) alignas(Value) TempStorage {
    alignas(Key) unsigned char keys[threads * Items * sizeof(Key)];
    alignas(Value) unsigned char values[threads * Items * sizeof(Value)];
  };
  WARPSMITH_METHOD BlockMergeSort(TempStorage& storage) : keys((Key*)storage.keys), values((Value*)storage.values) {}
  template <class Less> WARPSMITH_METHOD void Sort(Key (&own)[Items], Less less) { sort(own, (Value*)nullptr, less, threads * Items); }
  template <class Less> WARPSMITH_METHOD void Sort(Key (&own)[Items], Value (&moved)[Items], Less less) {
    sort(own, &moved[0], less, threads * Items);
  }
  // Items behind the valid ones come out as `last`, which must not be less than any of them.
  template <class Less> WARPSMITH_METHOD void Sort(Key (&own)[Items], Less less, int valid, Key last) {
    for (int i = 0; i < Items; ++i) own[i] = detail::rank() * Items + i < valid ? own[i] : last;
    Sort(own, less);
  }
  template <class Less> WARPSMITH_METHOD void Sort(Key (&own)[Items], Value (&moved)[Items], Less less, int valid, Key last) {
    for (int i = 0; i < Items; ++i) own[i] = detail::rank() * Items + i < valid ? own[i] : last;
    Sort(own, moved, less);
  }
  template <class... Arguments> WARPSMITH_METHOD void StableSort(Arguments&&... arguments) { Sort((Arguments&&)arguments...); }

 private:
  template <class Less> WARPSMITH_METHOD void sort(Key (&own)[Items], Value* moved, Less less, int count) {
    const int start = detail::rank() * Items;
    for (int i = 0; i < Items; ++i) keys[start + i] = own[i];
    __syncthreads();
    int places[Items];
    for (int i = 0; i < Items; ++i) {
      places[i] = 0;
      for (int other = 0; other < count; ++other) {
        const Key key = keys[other];
        places[i] += less(key, own[i]) || (other < start + i && !less(own[i], key));
      }
    }
    __syncthreads();
    for (int i = 0; i < Items; ++i) {
      keys[places[i]] = own[i];
      if (moved != nullptr) values[places[i]] = moved[i];
    }
    __syncthreads();
    for (int i = 0; i < Items; ++i) {
      own[i] = keys[start + i];
      if (moved != nullptr) moved[i] = values[start + i];
    }
    __syncthreads();
  }
};
}  // namespace cub

#include "warpsmith/pop_macros.h"
