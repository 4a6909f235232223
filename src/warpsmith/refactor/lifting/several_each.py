"""Threads that take several neighbours each and ask only whether the first exists: `c = i * N; if (c >= cols) return;`.

The author relied on N to divide what there is, at least where it was launched. Another number has to, too: nobody would ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import names_of, same
from warpsmith.refactor.lifting.rules import divides, is_exact
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def whole_takes(subject: Subject, lifted: Symbolic) -> Iterator[Rule]:
    """What ends where nobody asks must end with a thread's last element."""
    asked = list(_questions(lifted))
    for node, _, bound in asked:
        places = [place for _, place, end in asked if same(end, bound)]
        for parameter in (name for name in lifted.constants if name not in names_of(bound)):
            taken = all(place.divided((parameter,)) is not None for place in places)
            if taken and is_exact(subject, lifted.defaults, bound, parameter):
                line = lifted.source.line_of(node)
                yield Rule(divides(bound, parameter), f"line {line} checks only the first of {parameter}")


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
