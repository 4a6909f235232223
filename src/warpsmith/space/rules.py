"""Feasibility rules: the user's constraints and the limits r(h) of the device.

A rule is asked two questions: which rows of a table of assignments it allows (`allows`), and why it forbids one (`objection`).
An assignment for which it cannot be computed at all (say, a division by zero) is forbidden too, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.grid import evaluate_grid
from warpsmith.core.expression.nodes import Binary, Compare, Literal, Logic, Node, names_in
from warpsmith.core.hardware import MOST_BLOCKS, Limits
from warpsmith.space.conjuncts import conjuncts
from warpsmith.spec.kernel import Constraint, Launch

Columns: TypeAlias = Mapping[str, Array | Value]
Names: TypeAlias = Mapping[str, Value]

NO_LIMITS: Mapping[str, Limits] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a configuration breaks: the rule, its reason, the workload, and the numbers."""

    constraint: str
    reason: str
    workload: str | None
    detail: str

    def __str__(self) -> str:
        where = f" (workload {self.workload!r})" if self.workload else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.detail}{where}{why}"


class Rule(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What it computes from an assignment: it sees nothing else of it."""
        ...

    def parts(self) -> tuple[Rule, ...]:
        """Rules that together allow the same: smaller ones, which are decided earlier."""
        ...

    def allows(self, columns: Columns) -> Array: ...

    def allows_grid(self, axes: Columns) -> Array | bool | None:
        """As `allows`, over a grid: each name has values along axes of its own. None where that is not possible."""
        ...

    def holds(self, names: Names) -> bool:
        """Whether it allows one assignment."""
        ...

    def objection(self, names: Names) -> str | None:
        """The violation of this assignment, with its numbers; None if it is allowed."""
        ...


@dataclass(frozen=True, slots=True)
class ConstraintRule:
    """A constraint from kernel.toml."""

    constraint: Constraint

    @property
    def text(self) -> str:
        return str(self.constraint.expression)

    @property
    def reason(self) -> str:
        return self.constraint.reason

    @property
    def names(self) -> frozenset[str]:
        return self.constraint.expression.names

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.constraint.expression,)

    def parts(self) -> tuple[Rule, ...]:
        whole = self.constraint.expression
        found = conjuncts(whole.tree)
        if len(found) == 1:
            return (self,)
        groups: dict[frozenset[str], list[Node]] = {}
        for node in found:
            groups.setdefault(names_in(node), []).append(node)
        if len(groups) == 1:
            return (self,)
        joined = (nodes[0] if len(nodes) == 1 else Logic("and", tuple(nodes), whole.tree.span) for nodes in groups.values())
        return tuple(ConstraintRule(Constraint(whole.part(node), self.reason)) for node in joined)

    def allows(self, columns: Columns) -> Array:
        return _rows(
            columns, self.names, lambda part: self.constraint.expression.evaluate_many(part).astype(bool), self.objection
        )

    def allows_grid(self, axes: Columns) -> Array | bool | None:
        found = evaluate_grid(self.constraint.expression.tree, axes)
        return found.astype(bool, copy=False) if isinstance(found, np.ndarray) else found if found is None else bool(found)

    def holds(self, names: Names) -> bool:
        try:
            return bool(self.constraint.expression.evaluate(names))
        except InputError:
            return False

    def objection(self, names: Names) -> str | None:
        try:
            value = self.constraint.expression.evaluate(names)
        except InputError as error:
            return error.message
        if value:
            return None
        given = _given(self.names, names)
        return f"{self.text} does not hold" + (f" with {given}" if given else "")


@dataclass(frozen=True, slots=True)
class LimitRule:
    """A product of launch expressions must lie between two bounds: r(h), and that a launch has at least one thread and block."""

    what: str
    factors: tuple[Expression, ...]
    least: int
    limit_name: str | None
    limit: int | None
    reason: str = ""

    @property
    def text(self) -> str:
        return f"{self.what} <= {self.limit_name}" if self.limit_name else f"{self.what} >= {self.least}"

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(factor.names for factor in self.factors))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.factors

    def parts(self) -> tuple[Rule, ...]:
        """Each factor for itself, and their product: what a product may be says nothing about its factors."""
        if len(self.factors) == 1 or self.limit is None:
            return tuple(replace(self, factors=(factor,)) for factor in self.factors)
        alone = [replace(self, factors=(factor,), limit=None) for factor in self.factors]
        product = self.factors[0].tree
        for factor in self.factors[1:]:
            product = Binary("*", product, factor.tree, product.span)
        within = Compare(product, (("<=", Literal(self.limit, product.span)),), product.span)
        return (*alone, ConstraintRule(Constraint(self.factors[0].part(within), self.reason)))

    def allows(self, columns: Columns) -> Array:
        return _rows(columns, self.names, self._all_within, self.objection)

    def _all_within(self, columns: Columns) -> Array:
        factors = [factor.evaluate_many(columns) for factor in self.factors]
        if any(factor.dtype.kind not in "iu" for factor in factors):
            raise InputError("not all integers")
        # Extents are small; beyond what int64 holds a product is too large for any device.
        total = np.prod(np.array([factor.astype(np.float64) for factor in factors]), axis=0)
        allowed = np.all(np.array([factor >= self.least for factor in factors]), axis=0)
        result: Array = allowed if self.limit is None else allowed & (total <= self.limit)
        return result

    def allows_grid(self, axes: Columns) -> Array | bool | None:
        # Extents are nearly always one factor; the others are asked row by row.
        if len(self.factors) > 1:
            return None
        value = evaluate_grid(self.factors[0].tree, axes)
        if value is None or isinstance(value, bool) or (isinstance(value, np.ndarray) and value.dtype.kind == "b"):
            return None
        within = value >= self.least
        return within if self.limit is None else within & (value <= self.limit)

    def holds(self, names: Names) -> bool:
        try:
            values = [factor.evaluate(names) for factor in self.factors]
        except InputError:
            return False
        extents = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= self.least]
        return len(extents) == len(values) and (self.limit is None or prod(extents) <= self.limit)

    def objection(self, names: Names) -> str | None:
        try:
            values = [factor.evaluate(names) for factor in self.factors]
        except InputError as error:
            return error.message
        given = _given(self.names, names)
        behind = f" with {given}" if given else ""
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int):
                return f"{self.what} {value!r} is not an integer{behind}"
            if value < self.least:
                return f"{self.what} {value} < {self.least}{behind}"
        total = prod(int(value) for value in values)
        if self.limit is not None and total > self.limit:
            return f"{self.what} {total} > {self.limit_name}={self.limit}{behind}"
        return None


def rules_of(
    constraints: tuple[Constraint, ...], launch: Launch, limits: Limits, also: Mapping[str, Limits] = NO_LIMITS
) -> tuple[Rule, ...]:
    """The user's constraints first: what they exclude need not have a computable launch."""
    rules: list[Rule] = [ConstraintRule(constraint) for constraint in constraints]
    rules += _limit_rules(launch, limits)
    rules += _grid_rules(launch, limits)
    own = limits.names()
    for target, others in also.items():
        tighter = {name for name, value in others.names().items() if value < own[name]}
        limiting = (rule for rule in (*_limit_rules(launch, others), *_grid_rules(launch, others)) if rule.limit_name in tighter)
        rules += [replace(rule, what=f"{rule.what} on {target}") for rule in limiting]
    return tuple(rules)


def _limit_rules(launch: Launch, limits: Limits) -> list[LimitRule]:
    found = [LimitRule("threads per block", launch.block, 1, "max_threads_per_block", limits.max_threads_per_block)]
    for axis, extent in zip("xyz", launch.block, strict=False):
        name = f"max_block_{axis}"
        found.append(LimitRule(f"block.{axis}", (extent,), 1, name, getattr(limits, name)))
    shared = LimitRule("dynamic shared bytes", (launch.shared_bytes,), 0, "shared_bytes_per_block", limits.shared_bytes_per_block)
    return [*found, shared]


def _grid_rules(launch: Launch, limits: Limits) -> Iterator[LimitRule]:
    for axis, extent in zip("xyz", launch.grid, strict=False):
        most = limits.names()[f"max_grid_{axis}"]
        name, limit = (f"max_grid_{axis}", most) if most < MOST_BLOCKS else (None, None)
        yield LimitRule(f"grid.{axis}", (extent,), 1, name, limit)


def _rows(
    columns: Columns, names: frozenset[str], evaluate: Callable[[Columns], Array], objection: Callable[[Names], str | None]
) -> Array:
    """All rows at once; one by one only when some row has no result."""
    used = {name: columns[name] for name in names}
    length = next((len(c) for c in columns.values() if isinstance(c, np.ndarray)), 1)
    try:
        found = evaluate(used)
        return found if len(found) == length else np.broadcast_to(found, (length,))
    except InputError:
        lists = {name: c.tolist() if isinstance(c, np.ndarray) else [c] * length for name, c in used.items()}
        rows = ({name: values[i] for name, values in lists.items()} for i in range(length))
        return np.array([objection(row) is None for row in rows], dtype=bool)


def _given(wanted: frozenset[str], names: Names) -> str:
    return ", ".join(f"{name}={names[name]}" for name in sorted(wanted))
