"""Functions that a watched kernel calls (`include/warpsmith/watch.h`), compiled once and linked into its module."""

from __future__ import annotations

from functools import cache

from warpsmith.devices.cpu import clang

BLOCK, ENTER, WHO, FILL, SHARED, FENCE, OWN, READ, WRITE = (
    f"__warpsmith_watch_{name}" for name in ("block", "enter", "who", "fill", "shared", "fence", "own", "read", "write")
)
STATE = "__warpsmith_watch_state"
BLOCKS_AT = 9  # words of the state before the watched blocks' numbers
BEGIN, END = "__warpsmith_watch_begin", "__warpsmith_watch_end"

_ACCESS = "i64, i32, i64, i32, i64, i32, i32"
DECLARATIONS = (
    f"declare spir_func i64 @{BLOCK}()",
    f"declare spir_func void @{ENTER}(i64)",
    f"declare spir_func i64 @{WHO}(i64)",
    f"declare spir_func i64 @{FILL}(i32)",
    f"declare spir_func void @{SHARED}(i32, ptr addrspace(4), ptr addrspace(4))",
    f"declare spir_func i32 @{FENCE}(i64, i32)",
    f"declare spir_func void @{OWN}(i64, i32)",
    f"declare spir_func i64 @{READ}({_ACCESS})",
    f"declare spir_func i64 @{WRITE}({_ACCESS}, ptr addrspace(4))",
)

# As in the header.
MAX_RANGES, MAX_SHARED, MAX_BLOCKS, MAX_FINDINGS = 64, 16, 15, 32
CELL_BYTES = 80
SITE_BITS, THREAD_BITS, BLOCK_AT = 13, 13, 27
ATOMIC, VOLATILE = 1 << 26, 1 << 31
ANY_PLACE, UNKNOWN_PLACE = -1, -2
STRAY_READ, STRAY_WRITE, STRAY_OWN, INPUT_WRITE, MISALIGNED = 3, 4, 5, 6, 7
ALIGNMENT_AT = 26
MOST_BYTES = (1 << ALIGNMENT_AT) - 1


@cache
def bitcode() -> int:
    """An open file in memory."""
    return clang.library_of('#include "warpsmith/watch.h"\n')
