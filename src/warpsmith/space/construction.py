"""From parameters and rules to the table of feasible configurations.

Rows hold positions in the parameters' value lists. Parameters are joined one after another, in an order that completes rules
early, and each rule is applied as soon as all its parameters are bound: what it forbids is never multiplied further. A rule is
computed once over the product of its own parameters, which is nearly always small, and rows are filtered by looking it up there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.configuration import Value
from warpsmith.core.expression.vector import packed
from warpsmith.space.rules import Rule
from warpsmith.spec.kernel import Parameter

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# A rule over more assignments than this is computed on the rows it filters instead.
TABLE_LIMIT = 10_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """`settings` are the assignments of all other names, one for each workload: a configuration must be allowed in every one."""

    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...]
    settings: Mapping[str, Mapping[str, Value]]

    def parameters_of(self, rule: Rule) -> tuple[int, ...]:
        return tuple(i for i, parameter in enumerate(self.parameters) if parameter.name in rule.names)

    def allowed(self, rule: Rule, bound: Sequence[int], positions: Sequence[Array], rows: int) -> Array:
        """Which of the rows the rule allows on every workload; `positions` are the columns of the parameters `bound`."""
        columns: dict[str, Any] = {}
        for parameter, column in zip((self.parameters[i] for i in bound), positions, strict=True):
            if parameter.name in rule.names:
                columns[parameter.name] = packed(list(parameter.values))[column]
        verdicts = [np.broadcast_to(rule.allows({**setting, **columns}), (rows,)) for setting in self._distinct(rule)]
        return reduce(np.logical_and, verdicts)

    def _distinct(self, rule: Rule) -> list[Mapping[str, Value]]:
        """The settings that differ in what the rule uses."""
        seen = {tuple(sorted((n, s[n]) for n in rule.names if n in s)): s for s in self.settings.values()}
        return list(seen.values())

    def table(self, rule: Rule) -> Array | None:
        """The rule over the product of its own parameters, one axis each; None when that is too large."""
        own = self.parameters_of(rule)
        shape = tuple(len(self.parameters[i].values) for i in own)
        if prod(shape) > TABLE_LIMIT:
            return None
        positions = [axis.ravel() for axis in np.indices(shape, dtype=np.int32)] if shape else []
        return self.allowed(rule, own, positions, prod(shape)).reshape(shape)


def construct(problem: Problem) -> Array:
    """The feasible rows (one column per parameter, in their order), sorted lexicographically."""
    count = len(problem.parameters)
    rows = np.zeros((1, count), dtype=np.int32)
    bound: set[int] = set()
    waiting = list(problem.rules)
    for index in (None, *_join_order(problem)):
        if index is not None:
            size = len(problem.parameters[index].values)
            rows = np.repeat(rows, size, axis=0)
            rows[:, index] = np.tile(np.arange(size, dtype=np.int32), len(rows) // size)
            bound.add(index)
        ready = [rule for rule in waiting if bound.issuperset(problem.parameters_of(rule))]
        waiting = [rule for rule in waiting if rule not in ready]
        for rule in ready:
            rows = rows[_filter(problem, rule, rows)]
    return rows[np.lexsort(rows.T[::-1])] if count else rows


def _filter(problem: Problem, rule: Rule, rows: Array) -> Array:
    own = problem.parameters_of(rule)
    if prod(len(problem.parameters[i].values) for i in own) <= max(len(rows), 1):
        table = problem.table(rule)
        if table is not None:
            return (
                np.broadcast_to(table[tuple(rows[:, i] for i in own)], (len(rows),)) if own else np.full(len(rows), bool(table))
            )
    return problem.allowed(rule, own, [rows[:, i] for i in own], len(rows))


def _join_order(problem: Problem) -> list[int]:
    """Next come the parameters of the rule that needs the fewest new rows to be decided."""
    order: list[int] = []
    rules = [problem.parameters_of(rule) for rule in problem.rules]

    def cost(own: tuple[int, ...]) -> int:
        return prod(len(problem.parameters[i].values) for i in own if i not in order)

    while pending := [own for own in rules if not set(own) <= set(order)]:
        order += [i for i in min(pending, key=cost) if i not in order]
    return order + [i for i in range(len(problem.parameters)) if i not in order]
