"""Reads kernels: syntax with exact spans, names, loops, launch geometry, and how expressions depend on the thread.

`KernelSource` is the parsed kernel; `Names` knows what its identifiers stand for, `loops` its loops, `Polynomial` its index
arithmetic. Nothing here changes source: that is `warpsmith.refactor`, with the `Edit`s of this package.
"""

from warpsmith.source.kernel import KernelParameter, KernelSource, parse_kernel
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import Edit, Tree

__all__ = [
    "Edit",
    "KernelParameter",
    "KernelSource",
    "Loop",
    "LoopKind",
    "Names",
    "Polynomial",
    "Tree",
    "loops_of",
    "parse_kernel",
]
