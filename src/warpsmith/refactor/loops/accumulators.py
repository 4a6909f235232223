"""Several sums in place of one, so that an addition need not wait for the one before it: for `passes.whole_steps`.

A step adds to the sum of its number modulo ACCUMULATORS; after the loop they are added up. With one accumulator that is the sum
as it was, bit for bit; with more, floats are added up in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Loop, Names
from warpsmith.source.accumulators import combination
from warpsmith.source.effects import declared_type
from warpsmith.source.independence import carried
from warpsmith.source.tree import of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Accumulators:
    """What to write around a loop over whole steps, and in its body. Nothing where it collects no sum."""

    before: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    after: tuple[str, ...] = ()


def accumulators_tunable(subject: Subject, loops: Sequence[Loop], names: Names, items: Sequence[int]) -> Tunable | None:
    """The parameter, where a loop collects a sum and there are several steps per trip to collect it from."""
    first = next((loop for loop in loops if sums_of(loop, names)), None)
    values = tuple(v for v in _VALUES if v <= max(items))
    if first is None or len(values) < 2:
        return None
    meaning = "independent accumulators of a thread in an unchecked strided loop"
    return Tunable(fresh_name(subject, "ACCUMULATORS"), values, 1, meaning, subject.source.line_of(first.node))


def accumulators_rule(accumulators: str, items: str) -> Rule:
    return Rule(f"{accumulators} <= max({items}, 1)", "a trip cannot have more accumulators than steps")


def sums_of(loop: Loop, names: Names) -> dict[str, str]:
    """Variables from outside that the loop only adds to, with their types."""
    found = {}
    for name in sorted(set(carried(loop, names))):
        use = _first_use(name, loop)
        kind = None if use is None else declared_type(use, names)
        if combination(name, loop.body) == "+=" and kind is not None and kind.isidentifier():
            found[name] = kind
    return found


def accumulators_of(loop: Loop, names: Names, count: str, step: str, free: FreeNames) -> Accumulators:
    """`count` is the parameter, `step` the number of a step in its trip."""
    before: list[str] = []
    after: list[str] = []
    edits: list[Edit] = []
    for name, kind in sums_of(loop, names).items():
        array, number = free.take(f"{name}_parts"), free.take("part")
        before.append(f"{kind} {array}[{count}] = {{{name}}};")
        uses = [n for n in of_kind(loop.body, "identifier") if text_of(n) == name]
        edits += [Edit(n.start_byte, n.end_byte, f"{array}[{step} % {count}]") for n in uses]
        after += [
            f"{name} = {array}[0];",
            "#pragma unroll",
            f"for (int {number} = 1; {number} < {count}; ++{number}) {name} += {array}[{number}];",
        ]
    return Accumulators(tuple(before), tuple(edits), tuple(after))


def _first_use(name: str, loop: Loop) -> Node | None:
    return next((n for n in of_kind(loop.body, "identifier") if text_of(n) == name), None)
