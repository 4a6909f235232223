// cuda::atomic, cuda::atomic_ref and their std names, on top of atomics.h. Every scope is the device's; the order asked for is kept
// by fences around a relaxed operation.
#pragma once

#include "warpsmith/push_macros.h"

#include <__atomic/memory_order.h>

#include "warpsmith/cuda_std.h"

namespace __warpsmith {
WARPSMITH_FN void fence_before(std::memory_order order) {
  if (order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst) __threadfence();
}
WARPSMITH_FN void fence_after(std::memory_order order) {
  if (order != std::memory_order_relaxed && order != std::memory_order_release) __threadfence();
}

template <class T> class atomic_place {
 protected:
  T* place;
  template <class Operation> WARPSMITH_METHOD T update(Operation operation, std::memory_order order) const {
    fence_before(order);
    const T old = atomic_update(place, operation);
    fence_after(order);
    return old;
  }

 public:
  using value_type = T;
  WARPSMITH_METHOD explicit atomic_place(T* place) : place(place) {}
  WARPSMITH_METHOD T load(std::memory_order order = std::memory_order_seq_cst) const {
    const T value = bit_cast<T>(atomic_load((const bits<T>*)place));
    fence_after(order);
    return value;
  }
  WARPSMITH_METHOD void store(T value, std::memory_order order = std::memory_order_seq_cst) const { exchange(value, order); }
  WARPSMITH_METHOD T exchange(T value, std::memory_order order = std::memory_order_seq_cst) const {
    return update([=](T) { return value; }, order);
  }
  WARPSMITH_METHOD bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                                                std::memory_order = std::memory_order_seq_cst) const {
    fence_before(order);
    bits<T> seen = bit_cast<bits<T>>(expected);
    const bool done = atomic_replace((bits<T>*)place, &seen, bit_cast<bits<T>>(desired));
    expected = bit_cast<T>(seen);
    fence_after(order);
    return done;
  }
  WARPSMITH_METHOD bool compare_exchange_weak(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                                              std::memory_order = std::memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired, order);
  }
#define WARPSMITH_FETCH(name, ...)                                                                      \
  WARPSMITH_METHOD T name(T value, std::memory_order order = std::memory_order_seq_cst) const {         \
    return update([=](T old) { return (T)(__VA_ARGS__); }, order);                                      \
  }
  WARPSMITH_FETCH(fetch_add, old + value) WARPSMITH_FETCH(fetch_sub, old - value) WARPSMITH_FETCH(fetch_and, old & value)
  WARPSMITH_FETCH(fetch_or, old | value) WARPSMITH_FETCH(fetch_xor, old ^ value)
  WARPSMITH_FETCH(fetch_min, value < old ? value : old) WARPSMITH_FETCH(fetch_max, old < value ? value : old)
#undef WARPSMITH_FETCH
  WARPSMITH_METHOD operator T() const { return load(); }
  WARPSMITH_METHOD T operator++() const { return fetch_add(1) + 1; }
  WARPSMITH_METHOD T operator++(int) const { return fetch_add(1); }
  WARPSMITH_METHOD T operator--() const { return fetch_sub(1) - 1; }
  WARPSMITH_METHOD T operator--(int) const { return fetch_sub(1); }
  WARPSMITH_METHOD T operator+=(T value) const { return fetch_add(value) + value; }
  WARPSMITH_METHOD T operator-=(T value) const { return fetch_sub(value) - value; }
};
}  // namespace __warpsmith

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
using std::memory_order; using std::memory_order_acq_rel; using std::memory_order_acquire; using std::memory_order_relaxed;
using std::memory_order_release; using std::memory_order_seq_cst;

template <class T, thread_scope = thread_scope_system> class atomic_ref : public __warpsmith::atomic_place<T> {
 public:
  WARPSMITH_METHOD explicit atomic_ref(T& object) : __warpsmith::atomic_place<T>(&object) {}
  WARPSMITH_METHOD T operator=(T value) const { this->store(value); return value; }
};
// The object itself holds nothing but the value: arrays of it lie in memory as arrays of T.
template <class T, thread_scope = thread_scope_system> class atomic {
  T value;
  WARPSMITH_METHOD __warpsmith::atomic_place<T> ref() const { return __warpsmith::atomic_place<T>(const_cast<T*>(&value)); }

 public:
  atomic() = default;
  WARPSMITH_METHOD constexpr atomic(T value) : value(value) {}
  template <class... A> WARPSMITH_METHOD T load(A... order) const { return ref().load(order...); }
  template <class... A> WARPSMITH_METHOD void store(T value, A... order) { ref().store(value, order...); }
  template <class... A> WARPSMITH_METHOD T exchange(T value, A... order) { return ref().exchange(value, order...); }
  template <class... A> WARPSMITH_METHOD bool compare_exchange_strong(T& expected, T desired, A... order) {
    return ref().compare_exchange_strong(expected, desired, order...);
  }
  template <class... A> WARPSMITH_METHOD bool compare_exchange_weak(T& expected, T desired, A... order) {
    return ref().compare_exchange_strong(expected, desired, order...);
  }
#define WARPSMITH_FETCH(name) \
  template <class... A> WARPSMITH_METHOD T name(T value, A... order) { return ref().name(value, order...); }
  WARPSMITH_FETCH(fetch_add) WARPSMITH_FETCH(fetch_sub) WARPSMITH_FETCH(fetch_and) WARPSMITH_FETCH(fetch_or) WARPSMITH_FETCH(fetch_xor)
  WARPSMITH_FETCH(fetch_min) WARPSMITH_FETCH(fetch_max)
#undef WARPSMITH_FETCH
  WARPSMITH_METHOD operator T() const { return load(); }
  WARPSMITH_METHOD T operator=(T desired) { store(desired); return desired; }
  WARPSMITH_METHOD T operator++() { return ++ref(); }
  WARPSMITH_METHOD T operator++(int) { return ref()++; }
  WARPSMITH_METHOD T operator--() { return --ref(); }
  WARPSMITH_METHOD T operator--(int) { return ref()--; }
  WARPSMITH_METHOD T operator+=(T amount) { return ref() += amount; }
  WARPSMITH_METHOD T operator-=(T amount) { return ref() -= amount; }
};
WARPSMITH_FN void atomic_thread_fence(std::memory_order, thread_scope = thread_scope_system) { __threadfence(); }
}  // namespace cuda

namespace std {
inline namespace __1 {
template <class T> using atomic = cuda::atomic<T>;
template <class T> using atomic_ref = cuda::atomic_ref<T>;
typedef atomic<int> atomic_int;
typedef atomic<unsigned int> atomic_uint;
typedef atomic<bool> atomic_bool;
}  // namespace __1
}  // namespace std

#include "warpsmith/pop_macros.h"
