"""Loops: what they count, from where to where, and how their steps are distributed: over threads, the grid, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as data
from enum import StrEnum
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_JUMPS = ("break_statement", "continue_statement", "return_statement", "goto_statement")


class LoopKind(StrEnum):
    COUNTED = "counted"  # every thread does all steps
    BLOCK_STRIDE = "block-stride"  # starts at the thread's index in an axis, steps by the block's extent in it
    GRID_STRIDE = "grid-stride"  # starts at the thread's index in the grid, steps by the number of threads in it
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Loop:
    """`for (type variable = start; variable < bound; variable += step) body`, with `step` None for ++.

    `ends_below` is False for `<=`. `pragma` is the `#pragma unroll` right before it.
    """

    node: Node = data(repr=False)
    variable: str
    type: str
    start: Node = data(repr=False)
    bound: Node = data(repr=False)
    step: Node | None = data(repr=False)
    body: Node = data(repr=False)
    pragma: Node | None = data(repr=False)
    kind: LoopKind = LoopKind.OTHER
    axis: str = ""  # x, y or z of a strided loop
    ends_below: bool = True
    trips: int | None = None  # when known at compile time

    @property
    def atom(self) -> str:
        """The variable as a polynomial knows it."""
        declarator = next(of_kind(field(self.node, "initializer"), "init_declarator"))
        return f"{self.variable}@{declarator.start_byte}"

    def jumps(self) -> bool:
        """Whether a step can leave the loop, or skip its rest."""
        return any(True for _ in of_kind(self.body, *_JUMPS))

    def changes_variable(self, names: Names) -> bool:
        return names.is_assigned(self.variable, self.body)


def loops_of(within: Node, names: Names, *, assigned: bool = False) -> Iterator[Loop]:
    """All loops of the common form, outer before inner; others are left out.

    With `assigned`, also those that begin with `i = 0`: their variable lives on after them, and has no type here and no atom.
    """
    for node in of_kind(within, "for_statement"):
        loop = _loop(node, names, assigned=assigned)
        if loop is not None:
            yield loop


def _loop(node: Node, names: Names, *, assigned: bool) -> Loop | None:
    first, condition, update = (node.child_by_field_name(n) for n in ("initializer", "condition", "update"))
    if first is None or condition is None or update is None or condition.type != "binary_expression":
        return None
    is_set = first.type == "assignment_expression" and text_of(field(first, "operator")) == "="
    begun = [first] if assigned and is_set else [c for c in first.named_children if c.type == "init_declarator"]
    if len(begun) != 1 or (first.type != "declaration" and not is_set):
        return None
    name, start = (field(begun[0], part) for part in (("left", "right") if is_set else ("declarator", "value")))
    variable = text_of(name)
    if name.type != "identifier" or text_of(unwrapped(field(condition, "left"))) != variable:
        return None
    comparison = text_of(field(condition, "operator"))
    counts_up, step = _step(update, variable)
    if comparison not in {"<", "<="} or not counts_up:
        return None
    bound = field(condition, "right")
    kind, axis = _kind(start, step, names)
    before = node.prev_sibling
    pragma = before if before is not None and before.type == "preproc_call" and "unroll" in text_of(before) else None
    return Loop(
        node=node,
        variable=variable,
        type=" ".join(text_of(c) for c in first.children if c.end_byte <= begun[0].start_byte),
        start=start,
        bound=bound,
        step=step,
        body=field(node, "body"),
        pragma=pragma,
        kind=kind,
        axis=axis,
        ends_below=comparison == "<",
        trips=_trips(start, bound, step, comparison, names),
    )


def _step(update: Node, variable: str) -> tuple[bool, Node | None]:
    """(whether it only ever adds, what it adds: None for one)."""
    if update.type == "update_expression":
        return text_of(unwrapped(field(update, "argument"))) == variable and text_of(field(update, "operator")) == "++", None
    if update.type == "assignment_expression" and text_of(field(update, "left")) == variable:
        return text_of(field(update, "operator")) == "+=", field(update, "right")
    return False, None


def _kind(start: Node, step: Node | None, names: Names) -> tuple[LoopKind, str]:
    first = Polynomial.of(start, names)
    thread_axes = [axis for axis in "xyz" if first.mentions(f"threadIdx.{axis}")]
    if not thread_axes:
        return LoopKind.COUNTED if not any(first.mentions(f"blockIdx.{a}") for a in "xyz") else LoopKind.OTHER, ""
    if step is None or len(thread_axes) != 1:
        return LoopKind.OTHER, ""
    axis = thread_axes[0]
    if first.coefficient(f"threadIdx.{axis}") != Polynomial.constant(1):
        return LoopKind.OTHER, ""
    stride = Polynomial.of(step, names)
    extent = Polynomial.atom(f"blockDim.{axis}")
    if stride == extent and not first.mentions(f"blockIdx.{axis}"):
        return LoopKind.BLOCK_STRIDE, axis
    if stride == extent * Polynomial.atom(f"gridDim.{axis}") and first.mentions(f"blockIdx.{axis}"):
        return LoopKind.GRID_STRIDE, axis
    return LoopKind.OTHER, axis


def _trips(start: Node, bound: Node, step: Node | None, comparison: str, names: Names) -> int | None:
    first, last, by = names.value(start), names.value(bound), 1 if step is None else names.value(step)
    if first is None or last is None or by is None or by <= 0:
        return None
    return max(0, -(-(last + (comparison == "<=") - first) // by))
