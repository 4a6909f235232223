#pragma once
// size_t and ptrdiff_t are NVRTC's own.
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef decltype(nullptr) nullptr_t;
struct alignas(16) max_align_t {
  long long __a;
  double __b;
};
