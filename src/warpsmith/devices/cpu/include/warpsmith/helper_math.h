// Vector arithmetic under the names of the CUDA samples' helper_math.h, which many files include without bringing it along.
// A header of that name beside the user's source comes first.
#pragma once

#include "warpsmith/push_macros.h"
#include "warpsmith/vector_operators.h"

// Vectors out of one number, of other lengths (what is missing is 0) and of other numbers.
#define WARPSMITH_MAKE_FROM(V, T, W)                                                             \
  WARPSMITH_FN V##2 make_##V##2(W##2 a) { return {(T)a.x, (T)a.y}; }                             \
  WARPSMITH_FN V##3 make_##V##3(W##3 a) { return {(T)a.x, (T)a.y, (T)a.z}; }                     \
  WARPSMITH_FN V##4 make_##V##4(W##4 a) { return {(T)a.x, (T)a.y, (T)a.z, (T)a.w}; }
#define WARPSMITH_MAKE(V, T)                                                                     \
  WARPSMITH_FN V##2 make_##V##2(T s) { return {s, s}; }                                          \
  WARPSMITH_FN V##2 make_##V##2(V##3 a) { return {a.x, a.y}; }                                   \
  WARPSMITH_FN V##3 make_##V##3(T s) { return {s, s, s}; }                                       \
  WARPSMITH_FN V##3 make_##V##3(V##2 a, T z = 0) { return {a.x, a.y, z}; }                       \
  WARPSMITH_FN V##3 make_##V##3(V##4 a) { return {a.x, a.y, a.z}; }                              \
  WARPSMITH_FN V##4 make_##V##4(T s) { return {s, s, s, s}; }                                    \
  WARPSMITH_FN V##4 make_##V##4(V##3 a, T w = 0) { return {a.x, a.y, a.z, w}; }
WARPSMITH_MAKE(float, float)
WARPSMITH_MAKE(int, int)
WARPSMITH_MAKE(uint, unsigned int)
WARPSMITH_MAKE_FROM(float, float, int)
WARPSMITH_MAKE_FROM(float, float, uint)
WARPSMITH_MAKE_FROM(int, int, float)
WARPSMITH_MAKE_FROM(int, int, uint)
WARPSMITH_MAKE_FROM(uint, unsigned int, int)
#undef WARPSMITH_MAKE
#undef WARPSMITH_MAKE_FROM

// A function of one or two numbers, for each component.
#define WARPSMITH_MAP(V, name, f)                                                                \
  WARPSMITH_FN V##2 name(V##2 a) { return {f(a.x), f(a.y)}; }                                    \
  WARPSMITH_FN V##3 name(V##3 a) { return {f(a.x), f(a.y), f(a.z)}; }                            \
  WARPSMITH_FN V##4 name(V##4 a) { return {f(a.x), f(a.y), f(a.z), f(a.w)}; }
#define WARPSMITH_ZIP(V, name, f)                                                                \
  WARPSMITH_FN V##2 name(V##2 a, V##2 b) { return {f(a.x, b.x), f(a.y, b.y)}; }                  \
  WARPSMITH_FN V##3 name(V##3 a, V##3 b) { return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z)}; }     \
  WARPSMITH_FN V##4 name(V##4 a, V##4 b) { return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w)}; }
WARPSMITH_FN float fracf(float v) { return v - floorf(v); }
WARPSMITH_MAP(float, floorf, floorf)
WARPSMITH_MAP(float, fracf, fracf)
WARPSMITH_MAP(float, fabs, fabsf)
WARPSMITH_MAP(int, abs, abs)
WARPSMITH_ZIP(float, fminf, fminf)
WARPSMITH_ZIP(float, fmaxf, fmaxf)
WARPSMITH_ZIP(float, fmodf, fmodf)
WARPSMITH_ZIP(int, min, min)
WARPSMITH_ZIP(int, max, max)
WARPSMITH_ZIP(uint, min, min)
WARPSMITH_ZIP(uint, max, max)
#undef WARPSMITH_ZIP
#undef WARPSMITH_MAP

#define WARPSMITH_CLAMP(V, T, lower, upper)                                                      \
  WARPSMITH_FN T clamp(T v, T a, T b) { return upper(a, lower(v, b)); }                          \
  WARPSMITH_FN V##2 clamp(V##2 v, V##2 a, V##2 b) { return upper(a, lower(v, b)); }              \
  WARPSMITH_FN V##3 clamp(V##3 v, V##3 a, V##3 b) { return upper(a, lower(v, b)); }              \
  WARPSMITH_FN V##4 clamp(V##4 v, V##4 a, V##4 b) { return upper(a, lower(v, b)); }              \
  WARPSMITH_FN V##2 clamp(V##2 v, T a, T b) { return clamp(v, make_##V##2(a), make_##V##2(b)); } \
  WARPSMITH_FN V##3 clamp(V##3 v, T a, T b) { return clamp(v, make_##V##3(a), make_##V##3(b)); } \
  WARPSMITH_FN V##4 clamp(V##4 v, T a, T b) { return clamp(v, make_##V##4(a), make_##V##4(b)); } \
  WARPSMITH_FN T dot(V##2 a, V##2 b) { return a.x * b.x + a.y * b.y; }                           \
  WARPSMITH_FN T dot(V##3 a, V##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }               \
  WARPSMITH_FN T dot(V##4 a, V##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
WARPSMITH_CLAMP(float, float, fminf, fmaxf)
WARPSMITH_CLAMP(int, int, min, max)
WARPSMITH_CLAMP(uint, unsigned int, min, max)
#undef WARPSMITH_CLAMP

#define WARPSMITH_GEOMETRY(V)                                                                    \
  WARPSMITH_FN float length(V v) { return sqrtf(dot(v, v)); }                                    \
  WARPSMITH_FN V normalize(V v) { return v * rsqrtf(dot(v, v)); }                                \
  WARPSMITH_FN V lerp(V a, V b, float t) { return a + t * (b - a); }                             \
  WARPSMITH_FN V smoothstep(V a, V b, V x) {                                                     \
    const V y = clamp((x - a) / (b - a), 0.0f, 1.0f);                                            \
    return y * y * (3.0f - 2.0f * y);                                                            \
  }
WARPSMITH_GEOMETRY(float2)
WARPSMITH_GEOMETRY(float3)
WARPSMITH_GEOMETRY(float4)
#undef WARPSMITH_GEOMETRY
WARPSMITH_FN float lerp(float a, float b, float t) { return a + t * (b - a); }
WARPSMITH_FN float smoothstep(float a, float b, float x) {
  const float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
  return y * y * (3.0f - 2.0f * y);
}
WARPSMITH_FN float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
WARPSMITH_FN float3 cross(float3 a, float3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

#include "warpsmith/pop_macros.h"
