// Failures inside a kernel: assert, __trap, abort. Never a no-op: the first one is recorded and the device reports it after the launch.
//
// The thread goes on afterwards, for the runtime has no way to stop it; its results no longer count.
#pragma once

__attribute__((device)) int __warpsmith_trap[2];  // kind, line

namespace __warpsmith {
inline constexpr int trap_assert = 1, trap_trap = 2;

static __attribute__((host, device, noinline)) void record_trap(int kind, int line) {
  int expected = 0;
  if (__scoped_atomic_compare_exchange_n(&__warpsmith_trap[0], &expected, kind, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __MEMORY_SCOPE_DEVICE)) {
    __warpsmith_trap[1] = line;
  }
}
}  // namespace __warpsmith

// The line is the caller's: a default argument's __builtin_LINE() is evaluated where the call is written.
WARPSMITH_FN void __trap(int line = __builtin_LINE()) { __warpsmith::record_trap(__warpsmith::trap_trap, line); }
WARPSMITH_FN void __brkpt(int line = __builtin_LINE()) { __warpsmith::record_trap(__warpsmith::trap_trap, line); }
WARPSMITH_FN void abort(int line = __builtin_LINE()) { __warpsmith::record_trap(__warpsmith::trap_trap, line); }
WARPSMITH_FN void __assert_fail(const char*, const char*, unsigned int line, const char*) {
  __warpsmith::record_trap(__warpsmith::trap_assert, (int)line);
}
#define __builtin_trap() __trap()

// Accepted and silent.
template <class... A> WARPSMITH_FN int printf(const char*, A...) { return 0; }

#include "warpsmith/assert.h"
