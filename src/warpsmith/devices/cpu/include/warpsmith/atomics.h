// Atomic operations on global and shared memory, relaxed, as CUDA's are. The _block and _system forms are the same here.
//
// Integers have instructions. Floats go by compare-and-swap on their bits: the runtime links no float atomics for generic pointers.
#pragma once

namespace __warpsmith {
template <class T> inline constexpr bool is_wide_integer = is_integer<T> && sizeof(T) == 8;

template <class T> WARPSMITH_FN T atomic_load(const T* address) {
  return __scoped_atomic_load_n(address, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <class T> WARPSMITH_FN bool atomic_replace(T* address, T* expected, T desired) {
  return __scoped_atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// old = *address; *address = operation(old); return old. For any type of four or eight bytes.
template <class T, class Operation> WARPSMITH_FN T atomic_update(T* address, Operation operation) {
  using raw = bits<T>;
  raw* place = (raw*)address;
  raw seen = atomic_load(place);
  while (!atomic_replace(place, &seen, bit_cast<raw>(operation(bit_cast<T>(seen))))) {
  }
  return bit_cast<T>(seen);
}

// The same for two bytes: there is no 16-bit instruction, so the word around them is swapped.
template <class T, class Operation> requires(sizeof(T) == 2) WARPSMITH_FN T atomic_update(T* address, Operation operation) {
  const unsigned long place = (unsigned long)address;
  unsigned int* word = (unsigned int*)(place & ~3ul);
  const int shift = (int)(place & 2) * 8;
  unsigned int seen = atomic_load(word), desired;
  do {
    const T value = operation(bit_cast<T>((unsigned short)(seen >> shift)));
    desired = (seen & ~(0xffffu << shift)) | (unsigned int)bit_cast<unsigned short>(value) << shift;
  } while (!atomic_replace(word, &seen, desired));
  return bit_cast<T>((unsigned short)(seen >> shift));
}
}  // namespace __warpsmith

#define WARPSMITH_ATOMIC(name, builtin, T) \
  WARPSMITH_FN T name(T* address, T value) { return __scoped_atomic_##builtin(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }
// What CUDA lacks for a type comes as a template: kernels define such overloads themselves, and theirs must win.
#define WARPSMITH_ATOMIC_EXTRA(name, builtin)                                                                         \
  template <class T> requires(__warpsmith::is_wide_integer<T>)                                                        \
  WARPSMITH_FN T name(T* address, typename __warpsmith::identity<T>::type value) {                                    \
    return __scoped_atomic_##builtin(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                        \
  }
#define WARPSMITH_ATOMIC_CAS(T)                                             \
  WARPSMITH_FN T atomicCAS(T* address, T expected, T desired) {             \
    __warpsmith::atomic_replace(address, &expected, desired);               \
    return expected;                                                        \
  }
#define WARPSMITH_ATOMICS(name, builtin)                                    \
  WARPSMITH_ATOMIC(name, builtin, int)                                      \
  WARPSMITH_ATOMIC(name, builtin, unsigned int)                             \
  WARPSMITH_ATOMIC_EXTRA(name, builtin)
WARPSMITH_ATOMICS(atomicAdd, fetch_add)
WARPSMITH_ATOMICS(atomicSub, fetch_sub)
WARPSMITH_ATOMICS(atomicExch, exchange_n)
WARPSMITH_ATOMICS(atomicMin, fetch_min)
WARPSMITH_ATOMICS(atomicMax, fetch_max)
WARPSMITH_ATOMICS(atomicAnd, fetch_and)
WARPSMITH_ATOMICS(atomicOr, fetch_or)
WARPSMITH_ATOMICS(atomicXor, fetch_xor)
WARPSMITH_ATOMIC(atomicAdd, fetch_add, unsigned long long)
WARPSMITH_ATOMIC(atomicExch, exchange_n, unsigned long long)
WARPSMITH_ATOMIC(atomicMin, fetch_min, unsigned long long)
WARPSMITH_ATOMIC(atomicMax, fetch_max, unsigned long long)
WARPSMITH_ATOMIC(atomicMin, fetch_min, long long)
WARPSMITH_ATOMIC(atomicMax, fetch_max, long long)
WARPSMITH_ATOMIC(atomicAnd, fetch_and, unsigned long long)
WARPSMITH_ATOMIC(atomicOr, fetch_or, unsigned long long)
WARPSMITH_ATOMIC(atomicXor, fetch_xor, unsigned long long)
WARPSMITH_ATOMIC_CAS(int)
WARPSMITH_ATOMIC_CAS(unsigned int)
WARPSMITH_ATOMIC_CAS(unsigned long long)
#undef WARPSMITH_ATOMICS
#undef WARPSMITH_ATOMIC_CAS
#undef WARPSMITH_ATOMIC_EXTRA
#undef WARPSMITH_ATOMIC

// Wrapping counters.
WARPSMITH_FN unsigned int atomicInc(unsigned int* address, unsigned int value) {
  return __warpsmith::atomic_update(address, [=](unsigned int old) { return old >= value ? 0 : old + 1; });
}
WARPSMITH_FN unsigned int atomicDec(unsigned int* address, unsigned int value) {
  return __warpsmith::atomic_update(address, [=](unsigned int old) { return old == 0 || old > value ? value : old - 1; });
}

WARPSMITH_FN float atomicAdd(float* address, float value) {
  return __warpsmith::atomic_update(address, [=](float old) { return old + value; });
}
WARPSMITH_FN double atomicAdd(double* address, double value) {
  return __warpsmith::atomic_update(address, [=](double old) { return old + value; });
}
WARPSMITH_FN float atomicExch(float* address, float value) {
  return __warpsmith::bit_cast<float>(atomicExch((int*)address, __float_as_int(value)));
}

// Each component on its own, as CUDA defines it (from 9.0 on; before that, kernels define their own).
template <class T> requires(__is_same(T, float2) || __is_same(T, float4)) WARPSMITH_FN T atomicAdd(T* address, T value) {
  if constexpr (__is_same(T, float2)) {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
  } else {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
  }
}

WARPSMITH_FN unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short desired) {
  return __warpsmith::atomic_update(address, [=](unsigned short old) { return old == expected ? desired : old; });
}

#define WARPSMITH_SCOPED(name)                                                                                      \
  template <class T, class... V> WARPSMITH_FN T name##_block(T* address, V... values) { return name(address, values...); }  \
  template <class T, class... V> WARPSMITH_FN T name##_system(T* address, V... values) { return name(address, values...); }
WARPSMITH_SCOPED(atomicAdd) WARPSMITH_SCOPED(atomicSub) WARPSMITH_SCOPED(atomicExch) WARPSMITH_SCOPED(atomicMin)
WARPSMITH_SCOPED(atomicMax) WARPSMITH_SCOPED(atomicAnd) WARPSMITH_SCOPED(atomicOr) WARPSMITH_SCOPED(atomicXor)
WARPSMITH_SCOPED(atomicCAS) WARPSMITH_SCOPED(atomicInc) WARPSMITH_SCOPED(atomicDec)
#undef WARPSMITH_SCOPED
