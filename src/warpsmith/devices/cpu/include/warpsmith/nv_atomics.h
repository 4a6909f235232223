// The compiler's own atomic functions (nvcc from 12.8 on), on top of atomics.h: any scope is the device's, and the order asked for is
// kept by fences around a relaxed operation.
#pragma once

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace __warpsmith {
WARPSMITH_FN void nv_fence_before(int order) {
  if (order >= __NV_ATOMIC_RELEASE) __threadfence();
}
WARPSMITH_FN void nv_fence_after(int order) {
  if (order != __NV_ATOMIC_RELAXED && order != __NV_ATOMIC_RELEASE) __threadfence();
}
template <class T, class Operation> WARPSMITH_FN T nv_atomic_update(T* address, int order, Operation operation) {
  nv_fence_before(order);
  const T old = atomic_update(address, operation);
  nv_fence_after(order);
  return old;
}
template <class T> using nv_value = typename identity<T>::type;
}  // namespace __warpsmith

#define WARPSMITH_NV_ATOMIC(name, ...)                                                                                              \
  template <class T> WARPSMITH_FN T __nv_atomic_fetch_##name(T* address, __warpsmith::nv_value<T> value, int order, int = 0) {      \
    return __warpsmith::nv_atomic_update(address, order, [=](T old) { return (T)(__VA_ARGS__); });                                  \
  }                                                                                                                                 \
  template <class T> WARPSMITH_FN void __nv_atomic_##name(T* address, __warpsmith::nv_value<T> value, int order, int scope = 0) {   \
    __nv_atomic_fetch_##name(address, value, order, scope);                                                                         \
  }
WARPSMITH_NV_ATOMIC(add, old + value) WARPSMITH_NV_ATOMIC(sub, old - value)
WARPSMITH_NV_ATOMIC(and, old & value) WARPSMITH_NV_ATOMIC(or, old | value) WARPSMITH_NV_ATOMIC(xor, old ^ value)
WARPSMITH_NV_ATOMIC(min, value < old ? value : old) WARPSMITH_NV_ATOMIC(max, old < value ? value : old)
#undef WARPSMITH_NV_ATOMIC

template <class T> WARPSMITH_FN T __nv_atomic_exchange_n(T* address, __warpsmith::nv_value<T> value, int order, int = 0) {
  return __warpsmith::nv_atomic_update(address, order, [=](T) { return value; });
}
template <class T> WARPSMITH_FN void __nv_atomic_exchange(T* address, T* value, T* old, int order, int scope = 0) {
  *old = __nv_atomic_exchange_n(address, *value, order, scope);
}
template <class T> WARPSMITH_FN T __nv_atomic_load_n(T* address, int order, int = 0) {
  using raw = __warpsmith::bits<T>;
  const T value = __warpsmith::bit_cast<T>(__warpsmith::atomic_load((const raw*)address));
  __warpsmith::nv_fence_after(order);
  return value;
}
template <class T> WARPSMITH_FN void __nv_atomic_load(T* address, T* value, int order, int scope = 0) {
  *value = __nv_atomic_load_n(address, order, scope);
}
template <class T> WARPSMITH_FN void __nv_atomic_store_n(T* address, __warpsmith::nv_value<T> value, int order, int scope = 0) {
  __nv_atomic_exchange_n(address, value, order, scope);
}
template <class T> WARPSMITH_FN void __nv_atomic_store(T* address, T* value, int order, int scope = 0) {
  __nv_atomic_exchange_n(address, *value, order, scope);
}
template <class T>
WARPSMITH_FN bool __nv_atomic_compare_exchange_n(T* address, T* expected, __warpsmith::nv_value<T> desired, bool, int order, int, int = 0) {
  using raw = __warpsmith::bits<T>;
  __warpsmith::nv_fence_before(order);
  raw seen = __warpsmith::bit_cast<raw>(*expected);
  const bool done = __warpsmith::atomic_replace((raw*)address, &seen, __warpsmith::bit_cast<raw>(desired));
  *expected = __warpsmith::bit_cast<T>(seen);
  __warpsmith::nv_fence_after(order);
  return done;
}
template <class T>
WARPSMITH_FN bool __nv_atomic_compare_exchange(T* address, T* expected, T* desired, bool weak, int order, int failed, int scope = 0) {
  return __nv_atomic_compare_exchange_n(address, expected, *desired, weak, order, failed, scope);
}
WARPSMITH_FN void __nv_atomic_thread_fence(int order, int = 0) {
  if (order != __NV_ATOMIC_RELAXED) __threadfence();
}
