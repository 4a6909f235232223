"""`reciprocal`: divisions inside a loop by what does not change there become products with its reciprocal.

Exposes RECIPROCAL: 0 divides in every step, as it was; 1 divides once before the loop and multiplies in it. A product is a
fraction of a division's cost on every device; its result may differ from the quotient's in the last bit.

Precondition: dividend and divisor are surely floats, and the divisor is made of names and numbers that keep their values while
the loop runs; reading memory for it earlier than the original does is not risked. Dividing by zero gives the same infinities,
except that 0 / 0 and inf / 0 stay what they are. Constraints: none; the kernel's tolerance decides whether it may be on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names
from warpsmith.source.dataflow import is_pure
from warpsmith.source.effects import may_change
from warpsmith.source.floats import is_float
from warpsmith.source.statements import text_between
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = {"for_statement", "while_statement", "do_statement"}
_READING = {"subscript_expression", "pointer_expression", "field_expression"}


@dataclass(frozen=True, slots=True)
class _Division:
    """`loop` is the outermost one in which the divisor keeps its value."""

    node: Node
    divisor: Node
    loop: Node


class Reciprocal:
    name = "reciprocal"
    summary = "one division before a loop and products inside it, instead of a division in every step"
    stage = Stage.DECORATE
    priority = -3  # before divisions are sent elsewhere
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    found = _divisions(names)
    require(found, "no float is divided, in a loop, by one that surely keeps its value there")
    choice = fresh_name(subject, "RECIPROCAL")
    free = FreeNames(source.text)
    inverses: dict[tuple[int, str], str] = {}
    before: dict[int, list[str]] = {}
    products: dict[tuple[int, int], list[Edit]] = {}
    for division in found:
        divisor = source.text_of(unwrapped(division.divisor))
        key = division.loop.start_byte, divisor
        if key not in inverses:
            inverses[key] = free.take(f"inverse_{divisor}" if divisor.isidentifier() else "inverse")
            operand = source.text_of(division.divisor)
            before.setdefault(division.loop.start_byte, []).append(f"const float {inverses[key]} = 1.0f / {operand};")
        unit = _unit(division.node)
        products.setdefault((unit.start_byte, unit.end_byte), []).append(_product(division, inverses[key]))
    edits = []
    tree = source.tree
    for (start, end), inside in products.items():
        blanks, text = tree.data[tree.data.rfind(b"\n", 0, start) + 1 : start].decode(), text_between(tree, start, end)
        margin = blanks if not blanks.strip() else ""
        changed = text_between(tree, start, end, inside)
        first = "" if margin == blanks else "\n"
        head = f"{first}#if {choice}\n{margin}{changed}\n#else\n{margin}{text}\n#endif\n"
        edits.append(Edit(start - len(margin.encode()), _line_end(tree.data, end), head))
    for at, lines in before.items():
        edits += _declarations(subject, at, lines, choice)
    line = source.line_of(found[0].node)
    tunable = Tunable(choice, (0, 1), 0, "1: products with a reciprocal computed before the loop, instead of divisions", line)
    text = source.edited(*edits)
    return Rewrite(replace(variant, text=text, tunables=(*variant.tunables, tunable)))
