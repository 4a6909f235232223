// Standard headers of the host, empty but for names that signatures mention. Nothing in them can run in a kernel.
#pragma once

#include "warpsmith/push_macros.h"

#include <stddef.h>

namespace std {
inline namespace __1 {
template <class T> class allocator;
template <class C> struct char_traits;
template <class C, class T, class A> class basic_string;
template <class T, class A> class vector;
template <class T> class shared_ptr;
template <class T> struct default_delete;
template <class T, class D> class unique_ptr;
template <class F> class function;
template <class T> struct hash;
template <class T> struct less;
template <class K, class V, class C, class A> class map;
template <class K, class V, class H, class E, class A> class unordered_map;
template <class K, class C, class A> class set;
template <class T, class A> class list;
template <class T, class A> class deque;
template <size_t N> class bitset;
template <class C, class T> class basic_ostream;
template <class C, class T, class A> class basic_ostringstream;
template <class C, class T, class A> class basic_stringstream;
using ostream = basic_ostream<char, char_traits<char>>;
using ostringstream = basic_ostringstream<char, char_traits<char>, allocator<char>>;
using stringstream = basic_stringstream<char, char_traits<char>, allocator<char>>;
using string = basic_string<char, char_traits<char>, allocator<char>>;
}  // namespace __1
}  // namespace std

#include "warpsmith/pop_macros.h"
