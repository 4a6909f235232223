// What half, bfloat16 and fp8 share: roundings that can be followed by another without harm.
#pragma once

#include "warpsmith/push_macros.h"

namespace __warpsmith {
// Round to odd: truncate, and set the last bit if anything was lost. A later rounding to at most 22 bits then sees the exact side.
WARPSMITH_FN float round_to_odd(double x) {
  const float near = (float)x;
  const double back = near;
  unsigned int raw = bit_cast<unsigned int>(near);
  raw -= fabs(back) > fabs(x) ? 1u : 0u;
  raw |= back != x ? 1u : 0u;
  return bit_cast<float>(raw);
}

// The same from a 64-bit integer to a double.
template <class T> WARPSMITH_FN double odd_double(T x) {
  const exact_integer exact(x);
  unsigned long long raw = bit_cast<unsigned long long>(exact.high);
  raw -= exact.low != 0 && (exact.low < 0) == (exact.high > 0) ? 1u : 0u;
  raw |= exact.low != 0 ? 1u : 0u;
  return bit_cast<double>(raw);
}

WARPSMITH_FN float relu(float x) { return x > 0 || isnan(x) ? x : 0.0f; }

// One step of a 16-bit float's ordered bits away from or towards zero is one step of its magnitude.
template <class H> WARPSMITH_FN H round_directed_16(float x, H near, float back, rounding mode) {
  if (mode == rounding::zero) mode = x > 0 ? rounding::down : rounding::up;
  if (isnan(x) || back == x) return near;
  unsigned short raw = bit_cast<unsigned short>(near);
  if (mode == rounding::down && back > x) raw = raw == 0 ? 0x8001 : (unsigned short)(raw & 0x8000 ? raw + 1 : raw - 1);
  if (mode == rounding::up && back < x) raw = raw == 0x8000 ? 0x0001 : (unsigned short)(raw & 0x8000 ? raw - 1 : raw + 1);
  return bit_cast<H>(raw);
}
}  // namespace __warpsmith

#include "warpsmith/pop_macros.h"
