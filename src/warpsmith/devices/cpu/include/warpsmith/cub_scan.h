// cub's BlockScan: sums of everything in front of a thread, over one value or an array of consecutive values a thread.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/cub.h"

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

namespace detail {
WARPSMITH_FN int rank() { return (int)cooperative_groups::thread_block::thread_rank(); }

// What the block's first value is combined with: nothing, a value, or what a function object of the user's makes of the block's sum.
template <class T> struct no_start {
  static constexpr bool exists = false;
  WARPSMITH_METHOD T operator()(T) const { return T(); }
};
template <class T> struct value_start {
  static constexpr bool exists = true;
  T value;
  WARPSMITH_METHOD T operator()(T) const { return value; }
};
template <class T, class Prefix> struct prefix_start {
  static constexpr bool exists = true;
  Prefix& prefix;
  T* shared;
  // As in cub: the first warp calls it, and what its first thread gets counts.
  WARPSMITH_METHOD T operator()(T aggregate) const {
    if (rank() < 32) {
      const T value = prefix(aggregate);
      if (rank() == 0) *shared = value;
    }
    __syncthreads();
    return *shared;
  }
};
template <class Operation, class T> concept combines = requires(Operation operation, T value) { operation(value, value); };
}  // namespace detail

template <class T, int BlockX, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int BlockY = 1, int BlockZ = 1, int = 0> class BlockScan {
  static constexpr int threads = BlockX * BlockY * BlockZ, warps = (threads + 31) / 32;
  T* partial;  // the sum of each warp, and a prefix behind them

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char partial[(warps + 1) * sizeof(T)]; };
  WARPSMITH_METHOD BlockScan(TempStorage& storage) : partial((T*)storage.partial) {}
  WARPSMITH_METHOD BlockScan() : BlockScan(own_storage()) {}

  // `in` and `out` are one value each or arrays. Without an initial value the first result of an exclusive scan is not defined.
  template <class In, class Out, class Operation> WARPSMITH_METHOD void InclusiveScan(const In& in, Out& out, Operation operation) {
    T aggregate;
    scan<true>(in, out, operation, aggregate, detail::no_start<T>());
  }
  template <class In, class Out, class Operation>
  WARPSMITH_METHOD void InclusiveScan(const In& in, Out& out, Operation operation, T& aggregate) {
    scan<true>(in, out, operation, aggregate, detail::no_start<T>());
  }
  template <class In, class Out, class Operation, class Prefix>
  WARPSMITH_METHOD void InclusiveScan(const In& in, Out& out, Operation operation, Prefix& prefix) {
    T aggregate;
    scan<true>(in, out, operation, aggregate, detail::prefix_start<T, Prefix>{prefix, partial + warps});
  }
  template <class In, class Out, class Operation>
  WARPSMITH_METHOD void ExclusiveScan(const In& in, Out& out, T initial, Operation operation, T& aggregate) {
    scan<false>(in, out, operation, aggregate, detail::value_start<T>{initial});
  }
  template <class In, class Out, detail::combines<T> Operation>
  WARPSMITH_METHOD void ExclusiveScan(const In& in, Out& out, T initial, Operation operation) {
    T aggregate;
    scan<false>(in, out, operation, aggregate, detail::value_start<T>{initial});
  }
  template <class In, class Out, detail::combines<T> Operation>
  WARPSMITH_METHOD void ExclusiveScan(const In& in, Out& out, Operation operation) {
    T aggregate;
    scan<false>(in, out, operation, aggregate, detail::no_start<T>());
  }
  template <class In, class Out, detail::combines<T> Operation, class Prefix>
  WARPSMITH_METHOD void ExclusiveScan(const In& in, Out& out, Operation operation, Prefix& prefix) {
    T aggregate;
    scan<false>(in, out, operation, aggregate, detail::prefix_start<T, Prefix>{prefix, partial + warps});
  }
  template <class In, class Out> WARPSMITH_METHOD void InclusiveSum(const In& in, Out& out) { InclusiveScan(in, out, cub::Sum()); }
  template <class In, class Out, class Third> WARPSMITH_METHOD void InclusiveSum(const In& in, Out& out, Third& aggregate_or_prefix) {
    InclusiveScan(in, out, cub::Sum(), aggregate_or_prefix);
  }
  template <class In, class Out> WARPSMITH_METHOD void ExclusiveSum(const In& in, Out& out) { ExclusiveScan(in, out, T(0), cub::Sum()); }
  template <class In, class Out> WARPSMITH_METHOD void ExclusiveSum(const In& in, Out& out, T& aggregate) {
    ExclusiveScan(in, out, T(0), cub::Sum(), aggregate);
  }
  template <class In, class Out, class Prefix> WARPSMITH_METHOD void ExclusiveSum(const In& in, Out& out, Prefix& prefix) {
    ExclusiveScan(in, out, cub::Sum(), prefix);
  }

 private:
  template <class V> static WARPSMITH_METHOD V& at(V& value, int) { return value; }
  template <class V, int Items> static WARPSMITH_METHOD V& at(V (&values)[Items], int i) { return values[i]; }

  template <bool Inclusive, class In, class Out, class Operation, class Start>
  WARPSMITH_METHOD void scan(const In& in, Out& out, Operation operation, T& aggregate, const Start& start) {
    constexpr int items = sizeof(Out) / sizeof(at(out, 0));
    T sum = at(in, 0);
    for (int i = 1; i < items; ++i) sum = operation(sum, at(in, i));
    T running = sum_in_front(sum, operation, aggregate);
    bool is_first = detail::rank() == 0;
    if constexpr (Start::exists) {
      const T first = start(aggregate);
      running = is_first ? first : operation(first, running);
      is_first = false;
    }
    for (int i = 0; i < items; ++i) {
      const T value = at(in, i), sum = is_first ? value : operation(running, value);
      at(out, i) = Inclusive ? sum : running;
      running = sum;
      is_first = false;
    }
  }

  // Not defined in the first thread.
  template <class Operation> WARPSMITH_METHOD T sum_in_front(T value, Operation operation, T& aggregate) {
    const int rank = detail::rank(), warp = rank / 32;
    typename WarpScan<T>::TempStorage none;
    WarpScan<T>(none).InclusiveScan(value, value, operation);
    if (rank % 32 == 31 || rank == threads - 1) partial[warp] = value;
    __syncthreads();
    T total = partial[0], warps_in_front = total;
    for (int other = 1; other < warps; ++other) {
      if (other == warp) warps_in_front = total;
      total = operation(total, partial[other]);
    }
    aggregate = total;
    const T neighbour = cooperative_groups::thread_block_tile<32>().shfl_up(value, 1);
    return warp == 0 ? neighbour : rank % 32 == 0 ? warps_in_front : operation(warps_in_front, neighbour);
  }

  static WARPSMITH_METHOD TempStorage& own_storage() {
    static __shared__ TempStorage storage;
    return storage;
  }
};
}  // namespace cub

#include "warpsmith/pop_macros.h"
