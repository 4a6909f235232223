// What the generated entry of a kernel is made of. It comes before the user's source, whose macros may be called anything
// (T, N, size), and every name that is used after it is a reserved one.
#pragma once

namespace __warpsmith {
template <class F> struct __signature;
template <class R, class... A> struct __signature<R (*)(A...)> {
  static constexpr int __count = sizeof...(A);
  template <int I> using __type = __type_pack_element<I, A...>;
};
template <class R, class... A> struct __signature<R (*)(A...) noexcept> : __signature<R (*)(A...)> {};

// A pointer parameter, as the runtime passes it: into global memory, so that loads and stores are known to go there.
template <class T> struct __pointer {
  static constexpr bool __is = false;
  // A structure by value is given as a buffer with its bytes.
  static constexpr bool __takes_buffer = __is_class(T) || __is_union(T);
  using __in_global = __attribute__((address_space(1))) char*;
};
template <class T> struct __pointer<T*> {
  static constexpr bool __is = true, __takes_buffer = true;
  using __in_global = __attribute__((address_space(1))) T*;
};

template <class T, class P> WARPSMITH_DEVICE_FN T __from_buffer(P* place) {
  if constexpr (__pointer<T>::__is) return (T)place;
  else return *(const T*)place;
}

// A scalar travels as an OpenCL type. kernel.toml names memory, so an enum takes an integer, and a class (half, a pair) its bits.
template <class T, class V>
inline constexpr bool __fits = !__pointer<T>::__is && (__is_arithmetic(T) || __is_enum(T) || (sizeof(T) == sizeof(V) && !__is_reference(T)));
template <class T, class V> WARPSMITH_DEVICE_FN T __scalar(V value) {
  if constexpr (__is_arithmetic(T) || __is_enum(T)) return static_cast<T>(value);
  else return __builtin_bit_cast(T, value);
}

WARPSMITH_DEVICE_FN void __read_trap(__attribute__((address_space(1))) int* out) {
  for (int i = 0; i < 2; ++i) {
    out[i] = __warpsmith_trap[i];
    __warpsmith_trap[i] = 0;
  }
}

// Copies the bytes into the symbol, if they fit, and tells how many do.
template <class T>
WARPSMITH_DEVICE_FN void __set_constant(T& symbol, __attribute__((address_space(1))) const char* bytes, long count,
                                      __attribute__((address_space(1))) long* size) {
  *size = sizeof(T);
  if (count <= *size)
    for (long i = 0; i < count; ++i) ((char*)&symbol)[i] = bytes[i];
}
}  // namespace __warpsmith
