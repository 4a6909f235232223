// What single threads use of cub: loads and stores with hints, their blocked and striped forms, lane numbers, shuffles, iterators.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/cub.h"

#define CUB_MIN(a, b) (((a) > (b)) ? (b) : (a))
#define CUB_MAX(a, b) (((a) > (b)) ? (a) : (b))
#define CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y)-1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
#define CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))
#define CUB_PTX_WARP_THREADS 32
#define CUB_PTX_LOG_WARP_THREADS 5

namespace cub {
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier, class Iterator> WARPSMITH_FN auto ThreadLoad(Iterator from) { return *from; }
template <CacheStoreModifier, class Iterator, class T> WARPSMITH_FN void ThreadStore(Iterator to, T value) { *to = value; }

WARPSMITH_FN unsigned int LaneId() { return __warpsmith::lane_id(); }
WARPSMITH_FN unsigned int WarpId() { return cooperative_groups::thread_block::thread_rank() / 32; }

// `first` and `last` bound the source lane within the logical warp; beyond them a thread keeps its own value.
template <int Width, class T> WARPSMITH_FN T ShuffleUp(T value, int distance, int first, unsigned int) {
  const T other = cooperative_groups::thread_block_tile<32>().shfl_up(value, distance);
  return (int)(LaneId() % Width) - distance >= first ? other : value;
}
template <int Width, class T> WARPSMITH_FN T ShuffleDown(T value, int distance, int last, unsigned int) {
  const T other = cooperative_groups::thread_block_tile<32>().shfl_down(value, distance);
  return (int)(LaneId() % Width) + distance <= last ? other : value;
}
template <int Width, class T> WARPSMITH_FN T ShuffleIndex(T value, int lane, unsigned int) {
  return cooperative_groups::thread_block_tile<32>().shfl(value, LaneId() / Width * Width + lane % Width);
}

// Blocked: a thread's items are neighbours. Striped: they lie `Threads` apart.
#define WARPSMITH_DIRECT(Head, name, place)                                                                                     \
  template <Head class Source, class T, int Items> WARPSMITH_FN void LoadDirect##name(int rank, Source from, T (&items)[Items]) { \
    for (int i = 0; i < Items; ++i) items[i] = from[place];                                                                    \
  }                                                                                                                            \
  template <Head class Source, class T, int Items>                                                                              \
  WARPSMITH_FN void LoadDirect##name(int rank, Source from, T (&items)[Items], int valid) {                                    \
    for (int i = 0; i < Items; ++i) {                                                                                          \
      if (place < valid) items[i] = from[place];                                                                               \
    }                                                                                                                          \
  }                                                                                                                            \
  template <Head class Source, class T, int Items, class Default>                                                               \
  WARPSMITH_FN void LoadDirect##name(int rank, Source from, T (&items)[Items], int valid, Default otherwise) {                 \
    for (int i = 0; i < Items; ++i) items[i] = place < valid ? (T)from[place] : (T)otherwise;                                  \
  }                                                                                                                            \
  template <Head class Target, class T, int Items> WARPSMITH_FN void StoreDirect##name(int rank, Target to, T (&items)[Items]) {  \
    for (int i = 0; i < Items; ++i) to[place] = items[i];                                                                      \
  }                                                                                                                            \
  template <Head class Target, class T, int Items>                                                                              \
  WARPSMITH_FN void StoreDirect##name(int rank, Target to, T (&items)[Items], int valid) {                                     \
    for (int i = 0; i < Items; ++i) {                                                                                          \
      if (place < valid) to[place] = items[i];                                                                                 \
    }                                                                                                                          \
  }
#define WARPSMITH_THREADS int Threads,
WARPSMITH_DIRECT(, Blocked, rank * Items + i)
WARPSMITH_DIRECT(, BlockedVectorized, rank * Items + i)
WARPSMITH_DIRECT(WARPSMITH_THREADS, Striped, rank + i * Threads)
WARPSMITH_DIRECT(, WarpStriped, rank / 32 * 32 * Items + rank % 32 + i * 32)
#undef WARPSMITH_THREADS
#undef WARPSMITH_DIRECT

// Iterators that compute what they point at.
#define WARPSMITH_ITERATOR(Name, Value, ...)                                                            \
  using value_type = Value;                                                                             \
  using difference_type = ptrdiff_t;                                                                    \
  WARPSMITH_METHOD Value operator*() const { return (*this)[0]; }                                       \
  WARPSMITH_METHOD Name operator+(difference_type n) const { return __VA_ARGS__; }                      \
  WARPSMITH_METHOD Name& operator+=(difference_type n) { return *this = *this + n; }                    \
  WARPSMITH_METHOD Name& operator++() { return *this += 1; }
template <class T, class = ptrdiff_t> struct CountingInputIterator {
  T value;
  WARPSMITH_METHOD explicit CountingInputIterator(T value) : value(value) {}
  WARPSMITH_METHOD T operator[](ptrdiff_t n) const { return (T)(value + n); }
  WARPSMITH_ITERATOR(CountingInputIterator, T, CountingInputIterator((T)(value + n)))
};
template <class T, class = ptrdiff_t> struct ConstantInputIterator {
  T value;
  WARPSMITH_METHOD explicit ConstantInputIterator(T value, ptrdiff_t = 0) : value(value) {}
  WARPSMITH_METHOD T operator[](ptrdiff_t) const { return value; }
  WARPSMITH_ITERATOR(ConstantInputIterator, T, (void(n), ConstantInputIterator(value)))
};
template <class T, class Operation, class Source, class = ptrdiff_t> struct TransformInputIterator {
  Source source;
  Operation operation;
  WARPSMITH_METHOD TransformInputIterator(Source source, Operation operation) : source(source), operation(operation) {}
  WARPSMITH_METHOD T operator[](ptrdiff_t n) const { return operation(source[n]); }
  WARPSMITH_ITERATOR(TransformInputIterator, T, TransformInputIterator(source + n, operation))
};
template <CacheLoadModifier, class T, class = ptrdiff_t> struct CacheModifiedInputIterator {
  const T* source;
  WARPSMITH_METHOD CacheModifiedInputIterator(const T* source) : source(source) {}
  WARPSMITH_METHOD T operator[](ptrdiff_t n) const { return source[n]; }
  WARPSMITH_ITERATOR(CacheModifiedInputIterator, T, CacheModifiedInputIterator(source + n))
};
#undef WARPSMITH_ITERATOR
}  // namespace cub

#include "warpsmith/pop_macros.h"
