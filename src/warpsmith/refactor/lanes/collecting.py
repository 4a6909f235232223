"""Which variables of lanes only collect, so that it does not matter which lane collects what.

A sum or maximum that all lanes begin alike, add to in loops whose steps they take in turns, and then hand to a reduction over all
of them: any lane may take any term. That the reduction is of the same kind is part of what the pass assumes, and is tested.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.differing import Lanes, Variable
from warpsmith.refactor.lanes.exchanges import step_of
from warpsmith.source import Loop
from warpsmith.source.accumulators import combination
from warpsmith.source.tree import LOOPS, ancestors, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Inner:
    """The loop inside a step that lanes collect in: its variable, and how often it runs; none runs once."""

    variable: str = ""
    trips: str = "1"

    @property
    def is_even(self) -> bool:
        """Whether so many steps surely divide the lanes of a warp."""
        return self.trips.isdigit() and LANES % int(self.trips) == 0


def collected_in(loop: Loop, lanes: Lanes, arrays: Collection[Variable], loops: Mapping[int, Loop]) -> dict[Variable, Inner]:
    """What collects in the loop, all in the same way; nothing where lanes keep anything else there."""
    found: dict[Variable, Inner] = {}
    for use in of_kind(loop.body, "identifier"):
        variable = lanes.variable(use)
        if variable is None or variable not in arrays:
            continue
        inner = _inner(use, loop, lanes, loops)
        if inner is None or found.setdefault(variable, inner) != inner or not _only_collects(variable, lanes):
            return {}
    return found if len(set(found.values())) == 1 else {}


def _inner(use: Node, loop: Loop, lanes: Lanes, loops: Mapping[int, Loop]) -> Inner | None:
    around = []
    for outer in ancestors(use):
        if outer == loop.node:
            break
        if outer.type in LOOPS:
            around.append(outer)
    if not around:
        return Inner()
    inner = loops.get(around[0].start_byte) if len(around) == 1 else None
    if inner is None or lanes.names.value(inner.start) != 0 or inner.step is not None or not inner.ends_below:
        return None
    if inner.changes_variable(lanes.names):
        return None
    if inner.trips is not None:
        return Inner(inner.variable, str(inner.trips))
    is_chosen = lanes.names.expression(inner.bound) in lanes.names.parameters
    return Inner(inner.variable, text_of(inner.bound)) if is_chosen and inner.bound.type == "identifier" else None


def _only_collects(variable: Variable, lanes: Lanes) -> bool:
    ways = set()
    for use in lanes.uses[variable]:
        declared = lanes.declared(use)
        if declared is not None and is_within(use, declared.node):
            if declared.value is None or lanes.differs(declared.value):
                return False
            continue
        call = next((a for a in ancestors(use) if a.type in {"call_expression", "expression_statement", "declaration"}), None)
        if call is not None and call.type == "call_expression" and lanes.is_cooperative_call(call):
            continue
        statement = next((a for a in ancestors(use) if a.type == "expression_statement"), None)
        if statement is None:
            return False
        if step_of(statement) is None:
            ways.add(combination(variable.name, statement))
    return len(ways) == 1 and None not in ways
