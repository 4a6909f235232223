"""The functions that a watched kernel calls (`include/warpsmith/watch.h`), compiled once and linked into its module."""

from __future__ import annotations

from functools import cache

from warpsmith.devices.cpu import clang

BLOCK, WHO, SHARED, READ, WRITE = (f"__warpsmith_watch_{name}" for name in ("block", "who", "shared", "read", "write"))
BEGIN, END = "__warpsmith_watch_begin", "__warpsmith_watch_end"

DECLARATIONS = (
    f"declare spir_func i64 @{BLOCK}()",
    f"declare spir_func i64 @{WHO}(i64)",
    f"declare spir_func void @{SHARED}(i32, ptr addrspace(4), ptr addrspace(4))",
    f"declare spir_func void @{READ}(i64, i32, i64, i32, ptr addrspace(4), i32)",
    f"declare spir_func void @{WRITE}(i64, i32, i64, i32, ptr addrspace(4), i32, ptr addrspace(4))",
)

# As in the header.
MAX_RANGES, MAX_SHARED, MAX_BLOCKS, MAX_FINDINGS = 64, 16, 15, 32
CELL_BYTES = 80
SITE_BITS, THREAD_BITS, BLOCK_AT = 13, 13, 27
ATOMIC = 1 << 26


@cache
def bitcode() -> int:
    """An open file in memory."""
    return clang.library_of('#include "warpsmith/watch.h"\n')
