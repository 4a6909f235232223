"""The last thread of a block, said as a number: `carry += sums[255]` for 256 threads. It is not the last of another block."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.source.arrays import arrays_of
from warpsmith.source.comparisons import comparisons
from warpsmith.source.geometry import indices_into
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAST = 8  # the last of fewer threads is a number that stands for too many things


def says_the_last(names: Names, axis: str, threads: Collection[int]) -> str | None:
    """Why a block cannot have more or fewer threads along an axis. `threads`: as many as the author's has, there or in all."""
    last = {number - 1 for number in threads if number >= _LEAST}
    for node, value, is_element in (*_elements(names), *_asked(names, axis)):
        if value in last:
            what = "takes element" if is_element else "asks for thread"
            return f"line {names.source.line_of(node)} {what} {value}, the last of a block of {value + 1} threads"
    return None


def _elements(names: Names) -> Iterator[tuple[Node, int | None, bool]]:
    """Places in shared memory that are numbers."""
    shared = {array.name for array in arrays_of(names) if array.is_shared}
    yield from ((index, names.value(index), True) for index in indices_into(shared, names.source))


def _asked(names: Names, axis: str) -> Iterator[tuple[Node, int | None, bool]]:
    """Numbers that a thread's own is compared with."""
    thread = Polynomial.atom(f"threadIdx.{axis}")
    for one, other, _ in comparisons(names.source):
        if Polynomial.of(one, names) == thread:
            yield other, names.value(other), False
