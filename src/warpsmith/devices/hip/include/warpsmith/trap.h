// Failures inside a kernel end it, and the launch is reported as failed.
#pragma once

namespace __warpsmith {
inline constexpr int trap_assert = 1;
WARPSMITH_FN void record_trap(int, int) { __builtin_trap(); }
}  // namespace __warpsmith

WARPSMITH_FN void __trap() { __builtin_trap(); }
WARPSMITH_FN void abort() { __builtin_trap(); }
WARPSMITH_FN void __assert_fail(const char*, const char*, unsigned int, const char*) { __builtin_trap(); }

// Accepted and silent.
template <class... A> WARPSMITH_FN int printf(const char*, A...) { return 0; }

#include "warpsmith/assert.h"
