"""What rules a configuration out: the user's constraints and the limits r(h) of the device.

A rule is asked two questions: which rows of a table of assignments it allows (`allows`), and why it forbids one (`objection`).
An assignment for which it cannot be computed at all (say, a division by zero) is forbidden too, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.spec.kernel import Constraint, Launch

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Columns: TypeAlias = Mapping[str, Array | Value]
Names: TypeAlias = Mapping[str, Value]


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

    def allows(self, columns: Columns) -> Array: ...

    def objection(self, names: Names) -> str | None:
        """What is wrong with this assignment, with its numbers; None if it is allowed."""
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

    def allows(self, columns: Columns) -> Array:
        return _rows(
            columns, self.names, lambda part: self.constraint.expression.evaluate_many(part).astype(bool), self.objection
        )

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


def rules_of(constraints: tuple[Constraint, ...], launch: Launch, limits: Limits) -> tuple[Rule, ...]:
    """The user's constraints first: what they exclude need not have a computable launch."""
    rules: list[Rule] = [ConstraintRule(constraint) for constraint in constraints]
    rules.append(LimitRule("threads per block", launch.block, 1, "max_threads_per_block", limits.max_threads_per_block))
    for axis, extent in zip("xyz", launch.block, strict=False):
        name = f"max_block_{axis}"
        rules.append(LimitRule(f"block.{axis}", (extent,), 1, name, getattr(limits, name)))
    rules.extend(LimitRule(f"grid.{axis}", (extent,), 1, None, None) for axis, extent in zip("xyz", launch.grid, strict=False))
    rules.append(
        LimitRule("dynamic shared bytes", (launch.shared_bytes,), 0, "shared_bytes_per_block", limits.shared_bytes_per_block)
    )
    return tuple(rules)


def _rows(
    columns: Columns, names: frozenset[str], evaluate: Callable[[Columns], Array], objection: Callable[[Names], str | None]
) -> Array:
    """All rows at once; one by one only when some row has no result."""
    used = {name: columns[name] for name in names}
    length = next((len(c) for c in columns.values() if isinstance(c, np.ndarray)), 1)
    try:
        return np.broadcast_to(evaluate(used), (length,))
    except InputError:
        lists = {name: c.tolist() if isinstance(c, np.ndarray) else [c] * length for name, c in used.items()}
        rows = ({name: values[i] for name, values in lists.items()} for i in range(length))
        return np.array([objection(row) is None for row in rows], dtype=bool)


def _given(wanted: frozenset[str], names: Names) -> str:
    return ", ".join(f"{name}={names[name]}" for name in sorted(wanted))
