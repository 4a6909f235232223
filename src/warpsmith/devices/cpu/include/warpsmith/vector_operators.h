// Arithmetic of the short vectors, component by component, vector with vector or with a number. HIP has it; CUDA has not, and code
// that wants it includes helper_math.h.
#pragma once

#include "warpsmith/push_macros.h"

#define WARPSMITH_VECTOR_OPERATOR(V, T, symbol, each)                                                    \
  WARPSMITH_FN V operator symbol(V a, V b) { return each(symbol, a., b.); }                              \
  WARPSMITH_FN V operator symbol(V a, T s) { const V b = V##_of(s); return each(symbol, a., b.); }       \
  WARPSMITH_FN V operator symbol(T s, V b) { const V a = V##_of(s); return each(symbol, a., b.); }       \
  WARPSMITH_FN V& operator symbol##=(V& a, V b) { return a = a symbol b; }                               \
  WARPSMITH_FN V& operator symbol##=(V& a, T s) { return a = a symbol s; }
#define WARPSMITH_EACH_2(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y)}
#define WARPSMITH_EACH_3(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y), (a z) symbol (b z)}
#define WARPSMITH_EACH_4(symbol, a, b) {(a x) symbol (b x), (a y) symbol (b y), (a z) symbol (b z), (a w) symbol (b w)}
#define WARPSMITH_VECTOR_OPERATORS(V, T, each)                                                           \
  WARPSMITH_VECTOR_OPERATOR(V, T, +, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, -, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, *, each)                                                               \
  WARPSMITH_VECTOR_OPERATOR(V, T, /, each)                                                               \
  WARPSMITH_FN V operator-(V a) { return V##_of((T)0) - a; }
#define WARPSMITH_VECTOR_FAMILY(name, T)                                                                 \
  WARPSMITH_FN name##2 name##2_of(T s) { return {s, s}; }                                                \
  WARPSMITH_FN name##3 name##3_of(T s) { return {s, s, s}; }                                             \
  WARPSMITH_FN name##4 name##4_of(T s) { return {s, s, s, s}; }                                          \
  WARPSMITH_VECTOR_OPERATORS(name##2, T, WARPSMITH_EACH_2)                                               \
  WARPSMITH_VECTOR_OPERATORS(name##3, T, WARPSMITH_EACH_3)                                               \
  WARPSMITH_VECTOR_OPERATORS(name##4, T, WARPSMITH_EACH_4)
WARPSMITH_VECTOR_FAMILY(float, float)
WARPSMITH_VECTOR_FAMILY(double, double)
WARPSMITH_VECTOR_FAMILY(int, int)
WARPSMITH_VECTOR_FAMILY(uint, unsigned int)
#undef WARPSMITH_VECTOR_FAMILY
#undef WARPSMITH_VECTOR_OPERATORS
#undef WARPSMITH_VECTOR_OPERATOR
#undef WARPSMITH_EACH_2
#undef WARPSMITH_EACH_3
#undef WARPSMITH_EACH_4

#include "warpsmith/pop_macros.h"
