"""`reduction_style`: how a block adds up (or takes the maximum of) its threads' values.

Exposes: the body of device functions that reduce over a block in two levels, by warp shuffles and a shared array.
Precondition: the function is recognised as such (`source.reductions`), the block has one dimension, and its extent has a bound
that is a parameter or a number, for the array that the other styles need.
Parameters: REDUCE. Constraints: summing up one after the other is for small blocks; a single level needs a block of one warp. The
styles without shuffles need no whole warps, so that rule goes where nothing else exchanges values.

The order of additions differs from style to style, as it does from block size to block size: results agree within the tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Call, Literal, Name
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.source import Edit, KernelSource
from warpsmith.source.reductions import BlockReduction, block_reductions, combined
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# A function's body in another style: of the reduction, for at most so many threads, to be called again or not.
Style: TypeAlias = Callable[[BlockReduction, str, bool], str]

_SMALL = 64
_WARP_WORDS = re.compile(r"__shfl|__ballot|__any_sync|__all_sync|__reduce_\w+_sync|__match|__syncwarp|__activemask")


class ReductionStyle:
    name = "reduction_style"
    summary = "block reductions: warp shuffles in two levels or in one, sequential, or a tree"
    stage = Stage.RESTRUCTURE
    concerns = frozenset({Concern.PARALLELISM})
    priority = 20

    def apply(self, subject: Subject) -> Answer:
        source, variant = subject.source, subject.variant
        if (unclear := unreadable(source)) is not None:
            return unclear
        found = [r for r in block_reductions(source) if any(is_within(r.body, b) for b in source.reached())]
        if not found:
            return Declined("the kernel calls no block reduction made of warp shuffles and a shared array")
        line = source.line_of(found[0].function)
        if any(extent not in {"1", ""} for extent in variant.block[1:]):
            return Declined("the block has more than one dimension", line)
        bound = _bound(variant)
        if bound is None:
            return Declined(f"the number of threads in a block is bounded by no parameter or number: {variant.block[0]}", line)
        meaning = "block reductions. 0: shuffles in each warp, then over the warps · 1: each thread reduces all values"
        meaning += " · 2: shuffles in a block of one warp · 3: a tree in shared memory"
        choice = Tunable(fresh_name(subject, "REDUCE"), (0, 1, 2, 3), 0, meaning, line)
        rules = variant.rules if _exchanges_elsewhere(source, found) else _without_warp_rules(variant.rules, found)
        serial = Rule(f"{bound} <= {_SMALL}", f"every thread reduces all values of the block, which is too slow above {_SMALL}")
        one_warp = Rule(f"{bound} == warp_size", "a single level of shuffles covers one warp")
        alternatives = {
            1: replace(variant, text=_text(source, found, _serial, bound), rules=(*rules, serial)),
            2: replace(variant, text=_text(source, found, _one_warp, bound), rules=(*variant.rules, one_warp)),
            3: replace(variant, text=_text(source, found, _tree, bound), rules=rules),
        }
        return Rewrite(variant, choice, alternatives)


def _bound(variant: Variant) -> str | None:
    """An upper bound of the block's extent: a parameter, or a number."""
    names = {t.name for t in variant.tunables}
    tree = Expression.parse(variant.block[0]).tree
    for node in (tree, *(tree.arguments if isinstance(tree, Call) and tree.function == "min" else ())):
        if isinstance(node, Name) and node.name in names:
            return node.name
        if isinstance(node, Literal) and isinstance(node.value, int):
            return str(node.value)
    return None


def _exchanges_elsewhere(source: KernelSource, found: list[BlockReduction]) -> bool:
    """Whether the kernel uses warps apart from these reductions and the functions that only they call."""
    warp_functions = {re.match(r"\w+", r.warp_call)[0] for r in found}  # type: ignore[index]
    own = [r.body for r in found] + [
        b for name in warp_functions for b in source.device_functions[name].children if b.type == "compound_statement"
    ]
    elsewhere = [body for body in source.reached() if not any(body == o for o in own)]
    words = re.compile("|".join([_WARP_WORDS.pattern, *(rf"\b{name}\b" for name in warp_functions)]))
    return any(words.search(text_of(body)) for body in elsewhere)


def _without_warp_rules(rules: tuple[Rule, ...], found: list[BlockReduction]) -> tuple[Rule, ...]:
    arrays = "|".join(re.escape(r.array) for r in found)
    gone = re.compile(rf"warps must be whole|^(?:{arrays}) has a slot for each of at most \d+ warps")
    return tuple(rule for rule in rules if not gone.search(rule.reason))


def _text(source: KernelSource, found: list[BlockReduction], style: Style, bound: str) -> str:
    return source.edited(*(Edit(r.body.start_byte, r.body.end_byte, style(r, bound, _is_called_again(source, r))) for r in found))


def _is_called_again(source: KernelSource, reduction: BlockReduction) -> bool:
    """Whether the shared array may be written anew while it is still read: the function is called twice, or in a loop."""
    calls: list[tuple[str, Node]] = []
    for body in source.reached():
        for call in of_kind(body, "call_expression"):
            called = text_of(field(call, "function"))
            if re.match(r"\w+", called) and re.match(r"\w+", called)[0] == reduction.name:  # type: ignore[index]
                calls.append((called, call))
    names = [name for name, _ in calls]
    looped = any(a.type in LOOPS for _, call in calls for a in ancestors(call))
    return reduction.is_guarded or looped or len(set(names)) < len(names)


_AGAIN = "  __syncthreads();  // the array may be used again\n"


def _serial(r: BlockReduction, bound: str, again: bool) -> str:
    total = combined(r.operation, r.value, f"{r.array}[i]")
    return (
        "{\n"
        f"  __shared__ {r.type} {r.array}[{bound}];\n"
        f"  {r.array}[threadIdx.x] = {r.value};\n"
        "  __syncthreads();\n"
        f"  {r.value} = {r.array}[0];\n"
        f"  for (int i = 1; i < static_cast<int>(blockDim.x); ++i) {r.value} = {total};\n"
        f"{_AGAIN if again else ''}"
        f"  return {r.value};\n"
        "}"
    )


def _one_warp(r: BlockReduction, _bound: str, _again: bool) -> str:
    otherwise = f"  {r.otherwise}\n" if r.otherwise else ""
    return f"{{\n{otherwise}  return {r.warp_call}({r.value});  // the block is one warp: there is no second stage\n}}"


def _tree(r: BlockReduction, bound: str, again: bool) -> str:
    mine, other = f"{r.array}[threadIdx.x]", f"{r.array}[threadIdx.x + half]"
    return (
        "{\n"
        f"  __shared__ {r.type} {r.array}[{bound}];\n"
        f"  {mine} = {r.value};\n"
        "  __syncthreads();\n"
        "  // The upper half is added to the lower one until one value is left; of an odd number, the middle one waits.\n"
        "  for (unsigned left = blockDim.x; left > 1; left = (left + 1) / 2) {\n"
        "    const unsigned half = (left + 1) / 2;\n"
        f"    if (threadIdx.x < left / 2) {mine} = {combined(r.operation, mine, other)};\n"
        "    __syncthreads();\n"
        "  }\n"
        f"  {r.value} = {r.array}[0];\n"
        f"{_AGAIN if again else ''}"
        f"  return {r.value};\n"
        "}"
    )
