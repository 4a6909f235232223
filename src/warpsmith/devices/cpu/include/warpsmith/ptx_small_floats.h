// For inline PTX that computes with 16-bit or 8-bit floats.
#pragma once

#include "warpsmith/push_macros.h"

#include "warpsmith/float8.h"

namespace __warpsmith::ptx {
template <class Format> WARPSMITH_FN unsigned short pair(float lower, float upper) {
  return (unsigned short)(to_float8<Format>(lower, __NV_SATFINITE) | to_float8<Format>(upper, __NV_SATFINITE) << 8);
}
template <class Format> WARPSMITH_FN __half2 halves(unsigned short codes) {
  return {__half(from_float8<Format>((unsigned char)codes)), __half(from_float8<Format>((unsigned char)(codes >> 8)))};
}
}  // namespace __warpsmith::ptx

#include "warpsmith/pop_macros.h"
