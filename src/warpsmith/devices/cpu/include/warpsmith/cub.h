// The collectives of cub that kernels use most: WarpReduce, WarpScan, BlockReduce, with their function objects. BlockScan: cub_scan.h.
//
// Combined in thread order, so an operation need not commute. As in cub, a reduction's result is valid in the first thread only, and
// the caller puts a __syncthreads() between two uses of one TempStorage. All TempStorages are multiples of 16 bytes: kernels that lay
// out their shared memory by hand put vectors behind them.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/cooperative_groups.h"

namespace cub {
struct NullType {};
template <class K, class V> struct KeyValuePair {
  K key;
  V value;
};
#define WARPSMITH_OPERATION(name, ...) \
  struct name { template <class T> WARPSMITH_METHOD T operator()(const T& x, const T& y) const { return __VA_ARGS__; } };
WARPSMITH_OPERATION(Sum, x + y) WARPSMITH_OPERATION(Max, x < y ? y : x) WARPSMITH_OPERATION(Min, y < x ? y : x)
// The smaller index wins a tie.
WARPSMITH_OPERATION(ArgMax, y.value > x.value || (y.value == x.value && y.key < x.key) ? y : x)
WARPSMITH_OPERATION(ArgMin, y.value < x.value || (y.value == x.value && y.key < x.key) ? y : x)
#undef WARPSMITH_OPERATION
struct Equality { template <class T> WARPSMITH_METHOD bool operator()(const T& x, const T& y) const { return x == y; } };
struct Inequality { template <class T> WARPSMITH_METHOD bool operator()(const T& x, const T& y) const { return !(x == y); } };

template <class T, int Width = 32, int = 0> class WarpReduce {
 public:
  struct alignas(16) TempStorage {};
  WARPSMITH_METHOD WarpReduce(TempStorage&) {}
  template <class Operation> WARPSMITH_METHOD T Reduce(T value, Operation operation, int valid = Width) {
    const cooperative_groups::thread_block_tile<32> tile;
    const unsigned int lane = __warpsmith::lane_id(), rank = lane % Width;
    for (unsigned int step = 1; step < Width; step <<= 1) {
      const T other = tile.shfl_down(value, step);
      if (rank + step < (unsigned int)valid && rank + step < Width && other_exists(lane + step)) value = operation(value, other);
    }
    return value;
  }
  WARPSMITH_METHOD T Sum(T value) { return Reduce(value, cub::Sum()); }
  WARPSMITH_METHOD T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }

 private:
  // The last warp of a block may be short.
  static WARPSMITH_METHOD bool other_exists(unsigned int lane) {
    return lane < __warpsmith::lane_count();
  }
};

template <class T, int Width = 32, int = 0> class WarpScan {
 public:
  struct alignas(16) TempStorage {};
  WARPSMITH_METHOD WarpScan(TempStorage&) {}
  template <class Operation> WARPSMITH_METHOD void InclusiveScan(T value, T& result, Operation operation) {
    const cooperative_groups::thread_block_tile<32> tile;
    const unsigned int lane = __warpsmith::lane_id(), rank = lane % Width;
    for (unsigned int step = 1; step < Width; step <<= 1) {
      const T other = tile.shfl_up(value, step);
      if (rank >= step) value = operation(other, value);
    }
    result = value;
  }
  template <class Operation> WARPSMITH_METHOD void ExclusiveScan(T value, T& result, T initial, Operation operation) {
    T inclusive;
    InclusiveScan(value, inclusive, operation);
    const unsigned int lane = __warpsmith::lane_id();
    const T other = cooperative_groups::thread_block_tile<32>().shfl_up(inclusive, 1);
    result = lane % Width == 0 ? initial : operation(initial, other);
  }
  // Without an initial value the first thread's result is not defined.
  template <class Operation> WARPSMITH_METHOD void ExclusiveScan(T value, T& result, Operation operation) {
    T inclusive;
    InclusiveScan(value, inclusive, operation);
    result = cooperative_groups::thread_block_tile<32>().shfl_up(inclusive, 1);
  }
  template <class Operation> WARPSMITH_METHOD void InclusiveScan(T value, T& result, Operation operation, T& aggregate) {
    InclusiveScan(value, result, operation);
    aggregate = Broadcast(result, Width - 1);
  }
  template <class Operation>
  WARPSMITH_METHOD void ExclusiveScan(T value, T& result, T initial, Operation operation, T& aggregate) {
    T inclusive;
    InclusiveScan(value, inclusive, operation, aggregate);
    ExclusiveScan(value, result, initial, operation);
  }
  WARPSMITH_METHOD void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
  WARPSMITH_METHOD void InclusiveSum(T value, T& result, T& aggregate) { InclusiveScan(value, result, cub::Sum(), aggregate); }
  WARPSMITH_METHOD void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(0), cub::Sum()); }
  WARPSMITH_METHOD void ExclusiveSum(T value, T& result, T& aggregate) { ExclusiveScan(value, result, T(0), cub::Sum(), aggregate); }
  WARPSMITH_METHOD T Broadcast(T value, unsigned int rank) {
    const unsigned int lane = __warpsmith::lane_id(), last = __warpsmith::lane_count() - 1;
    const unsigned int from = lane - lane % Width + rank;
    return cooperative_groups::thread_block_tile<32>().shfl(value, from < last ? from : last);  // the last warp of a block may be short
  }
};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

template <class T, int BlockX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BlockY = 1, int BlockZ = 1, int = 0>
class BlockReduce {
  static constexpr int threads = BlockX * BlockY * BlockZ, warps = (threads + 31) / 32;

 public:
  struct alignas(16) alignas(T) TempStorage { alignas(T) unsigned char partial[warps * sizeof(T)]; };
  WARPSMITH_METHOD BlockReduce(TempStorage& storage) : partial((T*)storage.partial) {}
  WARPSMITH_METHOD BlockReduce() : BlockReduce(own_storage()) {}

  template <class Operation> WARPSMITH_METHOD T Reduce(T value, Operation operation, int valid = threads) {
    const int rank = (int)cooperative_groups::thread_block::thread_rank(), warp = rank / 32;
    typename WarpReduce<T>::TempStorage none;
    value = WarpReduce<T>(none).Reduce(value, operation, valid - warp * 32);
    if (rank % 32 == 0) partial[warp] = value;
    __syncthreads();
    if (rank == 0) {
      for (int other = 1; other < warps && other * 32 < valid; ++other) value = operation(value, partial[other]);
    }
    return value;
  }
  template <int Items, class Operation> WARPSMITH_METHOD T Reduce(T (&values)[Items], Operation operation) {
    T value = values[0];
    for (int i = 1; i < Items; ++i) value = operation(value, values[i]);
    return Reduce(value, operation);
  }
  WARPSMITH_METHOD T Sum(T value) { return Reduce(value, cub::Sum()); }
  WARPSMITH_METHOD T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  template <int Items> WARPSMITH_METHOD T Sum(T (&values)[Items]) { return Reduce(values, cub::Sum()); }

 private:
  T* partial;
  static WARPSMITH_METHOD TempStorage& own_storage() {
    static __shared__ TempStorage storage;
    return storage;
  }
};
}  // namespace cub

#include "warpsmith/pop_macros.h"
