"""Reductions over a block that give the same result however many threads it has, and what a thread may give to them.

A function that `reductions` recognises brings the values of all threads together. That the result does not depend on their
number takes more: that what it puts in the place of missing warps changes nothing, and that a thread with nothing to give gives
nothing, too: a zero to a sum, whatever the others have to a maximum.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.source.accumulators import EXTREME
from warpsmith.source.reductions import BlockReduction, block_reductions
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

    from warpsmith.source.kernel import KernelSource

_ZERO = re.compile(r"[+-]?(?:0+(?:\.0*)?|\.0+)(?:[eE]\+?\d+)?[fFuUlL]*")
_LARGE = r"(?:INFINITY|CUDART_INF_F|HUGE_VALF?|FLT_MAX|__FLT_MAX__|(?:std::)?numeric_limits<float>::(?:max|infinity)\(\))"
_MISSING = re.compile(r"\?(?P<array>\w+)\[\w+\]:(?P<value>[^;]+?)\)")


def is_zero(node: Node) -> bool:
    """A literal that adds nothing."""
    return _ZERO.fullmatch(text_of(unwrapped(node))) is not None


def family(operation: str) -> str | None:
    """`+`, `max` or `min`: what a combination (`+=`, `fmaxf`) or a reduction (`+`, `fmaxf`) does; None for anything else."""
    if operation in {"+", "+="}:
        return "+"
    if EXTREME.fullmatch(operation):
        return "max" if "max" in operation else "min"
    return None


def whole_reductions(source: KernelSource) -> dict[str, BlockReduction]:
    """Those of the file that a block of any number of whole warps may call, by name."""
    found = {r.name: r for r in block_reductions(source)}
    return {name: r for name, r in found.items() if len(source.functions(name)) == 1 and _ignores_missing(r)}


def reduction_in(call: Node, known: dict[str, BlockReduction]) -> BlockReduction | None:
    if call.type != "call_expression":
        return None
    return known.get(text_of(field(call, "function")).partition("<")[0].strip())


def _ignores_missing(reduction: BlockReduction) -> bool:
    text = "".join(text_of(reduction.body).split())
    missing = [m["value"] for m in _MISSING.finditer(text) if m["array"] == reduction.array]
    if len(missing) != 1:
        return False
    match family(reduction.operation):
        case "+":
            return _ZERO.fullmatch(missing[0]) is not None
        case "max":
            return re.fullmatch(f"-{_LARGE}|INT_MIN", missing[0]) is not None
        case "min":
            return re.fullmatch(f"{_LARGE}|INT_MAX", missing[0]) is not None
        case _:
            return False
