"""Axes along which a block's elements are numbered: from where, in what order, and up to which edge of the data.

With 64 threads, `col = blockIdx.x * 128 + q * 64 + threadIdx.x` and q < 2, `if (col < n) out[col] = …;` says all of that: blocks
have 128 neighbouring elements each, and those below n exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.geometry import Geometry
from warpsmith.source import Loop, Names, Polynomial
from warpsmith.source.effects import may_change
from warpsmith.source.signs import Signs
from warpsmith.source.tree import field, text_of
from warpsmith.spec.kernel import Kernel, Scalar

if TYPE_CHECKING:
    from tree_sitter import Node

_ONE = Polynomial.constant(1)
_SMALLER = {"<": ("left", "right"), "<=": ("left", "right"), ">": ("right", "left"), ">=": ("right", "left")}


@dataclass(frozen=True, slots=True)
class Axis:
    """An element's coordinate is `span * blockIdx + own * threadIdx + turn * counter`, with `turns` steps of a loop (1 without).

    A block has all of the `span` elements from its first one on; those below `end` exist.
    """

    name: str
    span: Polynomial
    own: Polynomial
    turn: Polynomial
    turns: Polynomial
    end: Polynomial

    @property
    def block(self) -> str:
        return f"blockIdx.{self.name}"

    @property
    def thread(self) -> str:
        return f"threadIdx.{self.name}"

    def share(self, value: Polynomial) -> Polynomial | None:
        """By how much the value grows from one coordinate to the next, judged by what blocks add to it; None if not evenly."""
        added = value.coefficient(self.block)
        ((atoms, factor),) = self.span.terms.items()
        return None if added is None else added.divided(atoms, factor)


class Comparisons:
    """Reads comparisons as distances to an edge."""

    def __init__(self, names: Names, geometry: Geometry, loops: Mapping[str, Loop]) -> None:
        self._names, self._geometry, self._loops = names, geometry, loops
        self._signs = Signs(names)

    def distance(self, part: Node) -> Polynomial | None:
        """What is negative where the comparison holds; None where it is no comparison of whole numbers."""
        operator = text_of(field(part, "operator")) if part.type == "binary_expression" else ""
        if operator not in _SMALLER:
            return None
        small, large = (field(part, side) for side in _SMALLER[operator])
        sides = (small, large)
        if not all(map(self._signs.is_signed, sides)) and not all(map(self._signs.is_natural, sides)):
            return None  # unsigned, a negative number would be a large one
        found = self._geometry.polynomial(small, self._names) - self._geometry.polynomial(large, self._names)
        return found if len(operator) == 1 else found - _ONE

    def axis(self, part: Node, name: str) -> tuple[Axis, Loop | None] | None:
        """The axis whose end the comparison asks about, and the loop that counts a thread's elements along it."""
        distance = self.distance(part)
        if distance is None:
            return None
        block, thread = f"blockIdx.{name}", f"threadIdx.{name}"
        span, own = distance.coefficient(block), distance.coefficient(thread)
        counted = [atom for atom in distance.atoms if atom in self._loops]
        if span is None or own is None or len(span.terms) != 1 or len(counted) > 1:
            return None
        loop = self._loops[counted[0]] if counted else None
        turn = distance.coefficient(counted[0]) if counted else Polynomial.constant(0)
        turns = _ONE if loop is None else self.steps(loop)
        threads = self._geometry.extents.get(f"blockDim.{name}")
        if turn is None or turns is None or threads is None or span != threads * turns:
            return None
        in_order = (own, turn) in ((_ONE, threads), (turns, _ONE)) if loop is not None else own == _ONE
        rest = distance.without(block).without(thread)
        rest = rest.without(counted[0]) if counted else rest
        end = Polynomial.constant(0) - rest
        return (Axis(name, span, own, turn, turns, end), loop) if in_order and self._is_given(end) else None

    def steps(self, loop: Loop) -> Polynomial | None:
        """How many there are, where that is the same for everybody; they count from 0 one by one, and none is left out."""
        bound = self._geometry.polynomial(loop.bound, self._names)
        plain = self._names.value(loop.start) == 0 and loop.step is None and loop.ends_below
        known = bound.atoms <= self._names.parameters
        return bound if plain and known and not loop.jumps() and not loop.changes_variable(self._names) else None

    def greatest(self, value: Polynomial, but: frozenset[str]) -> Polynomial | None:
        """The value in the last step of all loops but some; None where it is not known."""
        for atom in sorted(value.atoms & self._loops.keys() - but):
            factor, steps = value.coefficient(atom), self.steps(self._loops[atom])
            if factor is None or steps is None or factor.atoms or factor.terms[()] < 0:
                return None
            value = value.without(atom) + factor * (steps - _ONE)
        return value

    def _is_given(self, end: Polynomial) -> bool:
        return end.atoms <= self._names.parameters | frozenset(whole_arguments(self._names))


def whole_arguments(names: Names) -> Iterator[str]:
    """Arguments that are whole numbers, and that the kernel does not change."""
    kernel: Kernel | None = names.kernel
    for parameter, argument in zip(names.source.parameters, kernel.arguments if kernel is not None else (), strict=False):
        if isinstance(argument, Scalar) and argument.dtype.is_whole and not may_change(parameter.name, names.source.body, names):
            yield parameter.name
