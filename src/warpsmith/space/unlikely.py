"""Which combinations of values do not have what their author expects of fast ones: `[[likely]]` in kernel.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from warpsmith.core.arrays import Array
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space.tables import Table, tabled
from warpsmith.spec.kernel import Constraint, Parameter, Workload


def unlikely_of(
    parameters: Sequence[Parameter], likely: Sequence[Constraint], workloads: Sequence[Workload], limits: Limits
) -> tuple[Table, ...]:
    """For each expectation, 1 where it is not met; what cannot be told before is left out."""
    expressions = [expected.expression for expected in likely]
    found = (tabled(parameters, e.names, workloads, limits, partial(_unmet, e)) for e in expressions)
    return tuple(table for table in found if table is not None)


def _unmet(expression: Expression, names: Mapping[str, Any]) -> Array:
    unmet: Array = ~expression.evaluate_many(names).astype(bool)
    return unmet
