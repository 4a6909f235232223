"""Bounds the thread index for the runtime, so that 32-bit index arithmetic keeps its unit stride.

The index is 64 bits and CUDA code truncates it to 32. Unless it is known to fit, the vectoriser must assume that a[threadIdx.x
+ m] may wrap, and gathers (16 gathers and 9 scatters against none in a shared-memory reduction, 15 % of its time). Neither
`range` nor `assume` survives SPIR-V; a branch to `unreachable` does.
"""

from __future__ import annotations

import re

from warpsmith.devices.cpu.ir.module import Module

_CALL = re.compile(r"call i64 @llvm\.spv\.thread\.id\.in\.group\.i64\(i32 (?:noundef )?(\d)\)")
_BOUND = 1 << 16  # no device has larger blocks


def bound_thread_index(module: Module) -> None:
    """Runs after all passes that analyse control flow, which the branches would only slow down."""
    used: set[str] = set()
    for _, lines in module.pieces:
        for index, line in enumerate(lines):
            if match := _CALL.search(line):
                used.add(match[1])
                lines[index] = _CALL.sub(rf"call spir_func i64 @{_name(match[1])}()", line)
    module.pieces += [(_name(axis), _bounded(axis)) for axis in sorted(used)]


def _name(axis: str) -> str:
    return f"__warpsmith_thread_index_{'xyz'[int(axis)]}"


def _bounded(axis: str) -> list[str]:
    return [
        f"define internal spir_func i64 @{_name(axis)}() alwaysinline nounwind {{",
        f"  %index = call i64 @llvm.spv.thread.id.in.group.i64(i32 {axis})",
        f"  %fits = icmp ult i64 %index, {_BOUND}",
        "  br i1 %fits, label %known, label %never",
        "known:",
        "  ret i64 %index",
        "never:",
        "  unreachable",
        "}",
    ]
