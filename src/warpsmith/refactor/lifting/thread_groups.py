"""Groups of threads, said as a number: `threadIdx.x % 64`, `threadIdx.x >> 6`, `threadIdx.x & 255`.

Blocks of another size must have whole ones. Where the number is no less than the author's block (`threadIdx.x & 255` for 256
threads) there is one group: it tells the thread's own number, and more threads than that would share theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule
from warpsmith.refactor.extents import names_of, tidy, value_at
from warpsmith.refactor.lifting.first_threads import numbered
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_LARGEST_SHIFT = 16


@dataclass(frozen=True, slots=True)
class Group:
    """`thread` is whose group it is, `size` how many it has. `is_within`: the place in the group, else the group's number."""

    thread: Node
    size: int
    is_within: bool
    is_turned: bool = False  # `^`: the place of another one of the group


def group_of(node: Node, names: Names) -> Group | None:  # noqa: PLR0911 - one return for each operator
    """The group that an expression tells, whoever's it is."""
    node = unwrapped(node)
    if node.type != "binary_expression":
        return None
    left, number = field(node, "left"), names.value(field(node, "right"))
    if number is None or number < 1:
        return None
    match text_of(field(node, "operator")):
        case "%":
            return Group(left, number, is_within=True)
        case "/":
            return Group(left, number, is_within=False)
        case ">>" if number <= _LARGEST_SHIFT:
            return Group(left, 1 << number, is_within=False)
        case "&" if number & (number + 1) == 0:
            return Group(left, number + 1, is_within=True)
        case "^" | "|":
            return Group(left, 1 << number.bit_length(), is_within=True, is_turned=True)
        case _:
            return None


def whole_groups(lifted: Symbolic, block: Sequence[str]) -> Iterator[Rule]:
    """What each of them asks of the block."""
    for body in lifted.source.reached():
        for node in of_kind(body, "binary_expression"):
            group = group_of(node, lifted.names)
            threads = None if group is None else numbered(Polynomial.of(group.thread, lifted.names), block)
            if group is None or threads is None or not names_of(threads) & lifted.constants.keys():
                continue
            line, had = lifted.source.line_of(node), value_at(threads, lifted.defaults)
            if had is None:
                continue
            if group.size < had + group.is_turned and had % group.size == 0:
                yield Rule(
                    f"{tidy(f'({threads}) % {group.size}')} == 0", f"line {line} needs whole groups of {group.size} threads"
                )
            elif group.size >= had:
                yield Rule(f"{threads} <= {group.size}", f"line {line} distinguishes only {group.size} threads")
