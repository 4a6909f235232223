// Loads and stores with cache hints (the hints mean nothing here), fences, memcpy and its family, placement new.
#pragma once

namespace __warpsmith {
// Volatile access to an aggregate does not exist in C++, so `__ldcv` of a vector is a plain load behind a fence.
template <class T> WARPSMITH_FN T load(const T* address) { return *address; }
template <class T> WARPSMITH_FN void store(T* address, T value) { *address = value; }
template <class T> struct identity { using type = T; };
}  // namespace __warpsmith

#define WARPSMITH_LOAD(name) \
  template <class T> WARPSMITH_FN T name(const T* address) { return __warpsmith::load(address); }
#define WARPSMITH_STORE(name)                                                                         \
  template <class T> WARPSMITH_FN void name(T* address, typename __warpsmith::identity<T>::type value) { \
    __warpsmith::store(address, value);                                                               \
  }
WARPSMITH_LOAD(__ldg) WARPSMITH_LOAD(__ldca) WARPSMITH_LOAD(__ldcg) WARPSMITH_LOAD(__ldcs) WARPSMITH_LOAD(__ldlu)
WARPSMITH_STORE(__stwb) WARPSMITH_STORE(__stcg) WARPSMITH_STORE(__stcs) WARPSMITH_STORE(__stwt)
#undef WARPSMITH_LOAD
#undef WARPSMITH_STORE

WARPSMITH_FN void __threadfence() { __spirv_MemoryBarrier(__warpsmith::scope_device, __warpsmith::fence_all); }
WARPSMITH_FN void __threadfence_block() { __spirv_MemoryBarrier(__warpsmith::scope_block, __warpsmith::fence_all); }
WARPSMITH_FN void __threadfence_system() { __threadfence(); }

template <class T> WARPSMITH_FN T __ldcv(const T* address) {
  __threadfence();
  return *address;
}
template <class T> WARPSMITH_FN void __stcv(T* address, typename __warpsmith::identity<T>::type value) {
  *address = value;
  __threadfence();
}

WARPSMITH_FN void* memcpy(void* to, const void* from, size_t bytes) {
  // A constant size is one wide access after inlining; a loop would hide it.
  if (__builtin_constant_p(bytes)) return __builtin_memcpy(to, from, bytes);
  for (size_t i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
  return to;
}
WARPSMITH_FN void* memset(void* to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = (unsigned char)value;
  return to;
}
WARPSMITH_FN void* memmove(void* to, const void* from, size_t bytes) {
  if ((size_t)to - (size_t)from >= bytes) return memcpy(to, from, bytes);  // also where `to` lies in front
  for (size_t i = bytes; i-- > 0;) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
  return to;
}
WARPSMITH_FN int memcmp(const void* x, const void* y, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    const int difference = ((const unsigned char*)x)[i] - ((const unsigned char*)y)[i];
    if (difference != 0) return difference;
  }
  return 0;
}
// Placement, which allocates nothing. What does is refused.
inline __attribute__((host, device, always_inline)) void* operator new(size_t, void* place) noexcept { return place; }
inline __attribute__((host, device, always_inline)) void* operator new[](size_t, void* place) noexcept { return place; }
inline __attribute__((host, device, always_inline)) void operator delete(void*, void*) noexcept {}
// Addresses for assembly, which is refused where it is used; casts alone do no harm.
WARPSMITH_FN size_t __cvta_generic_to_shared(const void* address) { return (size_t)address; }
WARPSMITH_FN size_t __cvta_generic_to_global(const void* address) { return (size_t)address; }

// The device's own clock. Its ticks only mean something against each other, as on a GPU.
WARPSMITH_FN long long clock64() { return (long long)__spirv_ReadClockKHR(__warpsmith::scope_device); }
WARPSMITH_FN int clock() { return (int)clock64(); }
WARPSMITH_FN void __nanosleep(unsigned int) {}
