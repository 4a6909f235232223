"""Earlier runs of the same kernel, translated to this space's parameters. Used by `forecasts`."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Configuration, Value
from warpsmith.search.base import Prior
from warpsmith.search.gp.columns import Columns
from warpsmith.space import Space
from warpsmith.spec.kernel import Parameter

# The more points, the slower; the best of a long run and a sample of the rest say as much.
POINTS_AT_MOST = 200


@dataclass(frozen=True, slots=True)
class Context:
    """One earlier run: what the model sees of its configurations, and how far each one's log time is above the run's best.

    In an order of which any beginning can stand for the whole: the next best and any other in turn.
    """

    rows: Array
    above: Array


def context_of(prior: Prior, space: Space, columns: Columns, rng: np.random.Generator) -> Context | None:
    """What of an earlier run can be said in this space's parameters; None when there is too little."""
    found: dict[tuple[int, ...], float] = {}
    for evaluation in prior.evaluations:
        row = _translated(evaluation.configuration, space)
        if evaluation.score is not None and row is not None:
            found[row] = min(log(evaluation.score), found.get(row, np.inf))
    if len(found) < 2:
        return None
    rows = np.array(list(found), dtype=np.int32)
    logs = np.array(list(found.values()))
    order = np.argsort(logs, kind="stable")
    half = (len(order) + 1) // 2
    telling = np.empty_like(order)
    telling[::2], telling[1::2] = order[:half], rng.permutation(order[half:])
    telling = telling[:POINTS_AT_MOST]
    return Context(columns.of(rows[telling]), logs[telling] - logs.min())


def _translated(configuration: Configuration, space: Space) -> tuple[int, ...] | None:
    """The nearest values this space has; a parameter that the earlier run did not know was at its default there."""
    places: list[int] = []
    for parameter in space.parameters:
        value = configuration[parameter.name] if parameter.name in configuration else space.default[parameter.name]
        place = _nearest(value, parameter)
        if place is None:
            return None
        places.append(place)
    return tuple(places)


def _nearest(value: Value, parameter: Parameter) -> int | None:
    if value in parameter.values:
        return parameter.values.index(value)
    numbers = [v for v in parameter.values if isinstance(v, int | float) and not isinstance(v, bool)]
    if isinstance(value, bool | str) or len(numbers) < len(parameter.values):
        return None
    return int(np.argmin([abs(number - value) for number in numbers]))
