"""Between which numbers an integer expression of a kernel lies, for one workload: from the launch, arguments and loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Geometry, Language
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import of_grid
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included."""

    low: int
    high: int

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


class Intervals:
    """`sizes` are a workload's, with the parameters' values; None is the answer for what is not understood.

    A loop's variable has the value that ends the loop, too, unless only what it is `inside` the loop's body is asked for.
    """

    def __init__(self, names: Names, geometry: Geometry, sizes: Mapping[str, int], *, inside: bool = False) -> None:
        self._names = names
        self._sizes = sizes
        self._inside = inside
        self._launch: dict[str, Interval] = {}
        for axis, blocks, threads in zip("xyz", geometry.grid, geometry.block, strict=True):
            self._launch[f"blockIdx.{axis}"] = Interval(0, max(blocks - 1, 0))
            self._launch[f"threadIdx.{axis}"] = Interval(0, threads - 1)
            self._launch[f"gridDim.{axis}"] = Interval(blocks, blocks)
            self._launch[f"blockDim.{axis}"] = Interval(threads, threads)
        self._loops = {loop.atom: loop for loop in loops_of(names.source.body, names)}

    def of(self, node: Node, depth: int = 0) -> Interval | None:  # noqa: PLR0911 - one return for each kind of expression
        node = unwrapped(node)
        if depth > 40:
            return None
        known = self._value(node)
        if known is not None:
            return Interval(known, known)
        builtin = self._names.builtin(node)
        if builtin is not None:
            return self._launch.get(builtin)
        match node.type:
            case "identifier":
                return self._variable(node, depth + 1)
            case "binary_expression":
                left, right = (self.of(field(node, side), depth + 1) for side in ("left", "right"))
                return None if left is None or right is None else _combined(text_of(field(node, "operator")), left, right)
            case "conditional_expression":
                yes, no = (self.of(field(node, side), depth + 1) for side in ("consequence", "alternative"))
                return None if yes is None or no is None else yes.hull(no)
            case "cast_expression":
                return self.of(field(node, "value"), depth + 1)
            case "call_expression" if text_of(field(node, "function")).startswith("static_cast"):
                return self.of(field(node, "arguments").named_children[0], depth + 1)
            case "call_expression" if self._names.source.language is Language.OPENCL:
                return self._in_grid(text_of(node))
            case _:
                return None

    def _in_grid(self, text: str) -> Interval | None:
        place = of_grid(text)
        if place is None:
            return None
        asked, axis = place
        blocks, threads = self._launch[f"{asked}.{axis}"], self._launch[f"blockDim.{axis}"]
        last = blocks.high * threads.high + (threads.high - 1 if asked == "blockIdx" else 0)
        return Interval(blocks.low * threads.low, last)

    def _value(self, node: Node) -> int | None:
        expression = self._names.expression(node)
        if expression is None:
            return None
        try:
            found = Expression.parse(expression).evaluate(self._sizes)
        except InputError:
            return None
        return found if isinstance(found, int) else None

    def _variable(self, use: Node, depth: int) -> Interval | None:
        found = self._names.definition(use)
        if found.origin is Origin.LOOP and found.node is not None:
            loop = self._loops.get(f"{text_of(use)}@{found.node.start_byte}")
            return None if loop is None else self._counted(loop, depth)
        return self.of(found.value, depth) if found.is_fixed and found.value is not None else None

    def _counted(self, loop: Loop, depth: int) -> Interval | None:
        """A variable that only grows lies between where it starts and the bound, inside the loop's body."""
        start, bound = self.of(loop.start, depth), self.of(loop.bound, depth)
        step = Interval(1, 1) if loop.step is None else self.of(loop.step, depth)
        if start is None or bound is None or step is None or step.low < 1 or loop.changes_variable(self._names):
            return None
        if self._inside:
            last = bound.high - loop.ends_below
            if start.low == start.high and step.low == step.high and last >= start.low:
                last -= (last - start.low) % step.low  # it stops short of the bound where the step does not divide the range
            return Interval(start.low, max(start.low, last))
        # Its last value is the one that ends the loop.
        return Interval(start.low, max(start.high, bound.high + step.high))


def _combined(operator: str, left: Interval, right: Interval) -> Interval | None:
    match operator:
        case "+":
            return Interval(left.low + right.low, left.high + right.high)
        case "-":
            return Interval(left.low - right.high, left.high - right.low)
        case "*":
            products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            return Interval(min(products), max(products))
        case "/" if left.low >= 0 and right.low >= 1:
            return Interval(left.low // right.high, left.high // right.low)
        case "%" if left.low >= 0 and right.low >= 1:
            return Interval(0, min(left.high, right.high - 1))
        case _:
            return None
