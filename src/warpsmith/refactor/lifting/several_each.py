"""Threads that take several neighbours each and ask only whether the first exists: `c = i * N; if (c >= cols) return;`.

The author relied on N to divide what there is, at least where it was launched. Another number has to, too: nobody would ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import names_of, same, tidy, value_at
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def whole_takes(subject: Subject, lifted: Symbolic) -> Iterator[Rule]:
    """What ends where nobody asks must end with a thread's last element."""
    asked = list(_questions(lifted))
    for node, place, bound in asked:
        for parameter in lifted.constants:
            others = [other for _, other, end in asked if same(end, bound)]
            if parameter in names_of(bound) or not all(_takes(other, parameter) for other in others):
                continue
            ends = [value_at(f"({bound}) % {parameter}", {**w.sizes, **lifted.defaults}) for w in subject.kernel.workloads]
            if _takes(place, parameter) and all(end == 0 for end in ends):
                line = lifted.source.line_of(node)
                yield Rule(f"{tidy(f'({bound}) % {parameter}')} == 0", f"line {line} asks only for the first of {parameter}")


def _questions(lifted: Symbolic) -> Iterator[tuple[Node, Polynomial, str]]:
    """Comparisons of a thread's place with something that is known at launch: the place, and what that is."""
    names = lifted.names
    for body in names.source.reached():
        for node in of_kind(body, "binary_expression"):
            if text_of(field(node, "operator")) not in NEGATED:
                continue
            for one, other in (("left", "right"), ("right", "left")):
                place, bound = Polynomial.of(field(node, one), names), names.expression(field(node, other))
                if bound is not None and any(place.mentions(f"threadIdx.{axis}") for axis in "xyz"):
                    yield node, place, bound


def _takes(place: Polynomial, parameter: str) -> bool:
    return place.divided((parameter,)) is not None
