// What kernels themselves use of thrust: pairs, tuples, function objects, min, max and swap. Its algorithms are not here.
#pragma once

#include <tuple>
#include <utility>

#include "warpsmith/push_macros.h"

namespace thrust {
using std::get; using std::make_pair; using std::make_tuple; using std::pair; using std::swap; using std::tie; using std::tuple;
using std::tuple_element; using std::tuple_size;

template <class T> WARPSMITH_FN T min(const T& x, const T& y) { return y < x ? y : x; }
template <class T> WARPSMITH_FN T max(const T& x, const T& y) { return x < y ? y : x; }
template <class T, class Less> WARPSMITH_FN T min(const T& x, const T& y, Less less) { return less(y, x) ? y : x; }
template <class T, class Less> WARPSMITH_FN T max(const T& x, const T& y, Less less) { return less(x, y) ? y : x; }

// Function objects, for a type or for whatever comes.
#define WARPSMITH_OBJECT(name, ...)                                                                                       \
  template <class T = void> struct name {                                                                                 \
    WARPSMITH_METHOD constexpr auto operator()(const T& x, const T& y) const { return __VA_ARGS__; }                      \
  };                                                                                                                      \
  template <> struct name<void> {                                                                                         \
    template <class X, class Y> WARPSMITH_METHOD constexpr auto operator()(const X& x, const Y& y) const { return __VA_ARGS__; } \
  };
WARPSMITH_OBJECT(plus, x + y) WARPSMITH_OBJECT(minus, x - y) WARPSMITH_OBJECT(multiplies, x * y) WARPSMITH_OBJECT(divides, x / y)
WARPSMITH_OBJECT(modulus, x % y) WARPSMITH_OBJECT(maximum, x < y ? y : x) WARPSMITH_OBJECT(minimum, y < x ? y : x)
WARPSMITH_OBJECT(less, x < y) WARPSMITH_OBJECT(greater, x > y) WARPSMITH_OBJECT(less_equal, x <= y)
WARPSMITH_OBJECT(greater_equal, x >= y) WARPSMITH_OBJECT(equal_to, x == y) WARPSMITH_OBJECT(not_equal_to, x != y)
WARPSMITH_OBJECT(logical_and, x && y) WARPSMITH_OBJECT(logical_or, x || y) WARPSMITH_OBJECT(bit_and, x & y)
WARPSMITH_OBJECT(bit_or, x | y) WARPSMITH_OBJECT(bit_xor, x ^ y)
#undef WARPSMITH_OBJECT
}  // namespace thrust

#include "warpsmith/pop_macros.h"
