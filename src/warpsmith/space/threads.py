"""Threads per block as a function of the parameters: from the launch or, for a recording, from the bounds of the space.

No GPU runs blocks of more than 1,024 threads, so a recorded space of one never has more. Sizes whose product ends exactly there,
although their values would allow more, are the extents of a block. Nothing has to have a certain name for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import log2, prod

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.rules import LimitRule
from warpsmith.space.tables import COMBINATIONS_AT_MOST, Table
from warpsmith.spec.kernel import Parameter

GPU_THREADS_AT_MOST = 1_024
_AXES = (2, 3)
_ROUNDING = 1e-6


def threads_by_launch(problem: SpaceProblem) -> Table | None:
    """Of a whole block; None for a device that is no GPU, or where the launch does not tell."""
    rule = _limiting(problem, "max_threads_per_block")
    is_gpu = rule is not None and rule.limit is not None and rule.limit <= GPU_THREADS_AT_MOST
    return _counted(problem, rule) if rule is not None and is_gpu else None


def threads_along_x(problem: SpaceProblem) -> Table | None:
    """Those that follow each other: they run in one vector and share what memory delivers at a time. None as above."""
    rule = _limiting(problem, "max_block_x")
    return None if rule is None else _counted(problem, rule)


def _limiting(problem: SpaceProblem, limit: str) -> LimitRule | None:
    """The rule of the device itself: those of further targets come later."""
    return next((rule for rule in problem.rules if isinstance(rule, LimitRule) and rule.limit_name == limit), None)


def _counted(problem: SpaceProblem, rule: LimitRule) -> Table | None:
    """0 where there is no such launch. None where the number hangs on the workload, or on no parameter."""
    places = tuple(sorted(problem.scope(rule)))
    involved = [problem.parameters[place] for place in places]
    shape = [len(parameter.values) for parameter in involved]
    if not places or len(places) < len(rule.names) or prod(shape) > COMBINATIONS_AT_MOST:
        return None
    counts = np.fromiter(_launched(rule, involved), dtype=np.float64, count=prod(shape))
    return Table(places, counts.reshape(shape))


def _launched(rule: LimitRule, involved: Sequence[Parameter]) -> Iterator[float]:
    for values in product(*(parameter.values for parameter in involved)):
        names = dict(zip((parameter.name for parameter in involved), values, strict=True))
        try:
            yield prod(float(factor.evaluate(names)) for factor in rule.factors)
        except (InputError, ValueError):
            yield 0.0


def threads_by_listing(parameters: Sequence[Parameter], rows: Array) -> Table | None:
    """None where no product of sizes ends at a GPU's limit, or where several do and none of them has all of the others in it.

    (Of three extents the third may be 1, so that two by themselves end there too.) A product that is bounded by the bounds of
    fewer sizes says nothing: it may end there by chance.
    """
    sizes = {place: np.log2(parameter.values) for place, parameter in enumerate(parameters) if _are_sizes(parameter.values)}
    most: dict[tuple[int, ...], float] = {(place,): float(logs[rows[:, place]].max()) for place, logs in sizes.items()}
    found: list[tuple[int, ...]] = []
    for places in (several for count in _AXES for several in combinations(sizes, count)):
        reached = float(np.sum([sizes[place][rows[:, place]] for place in places], axis=0).max())
        most[places] = reached
        implied = min(most[places[:at] + places[at + 1 :]] + most[places[at],] for at in range(len(places)))
        if abs(reached - log2(GPU_THREADS_AT_MOST)) < _ROUNDING and implied > reached + _ROUNDING:
            found.append(places)
    if not found or any(not set(others) <= set(found[-1]) for others in found):
        return None
    return _product(found[-1], sizes)


def _product(places: tuple[int, ...], sizes: dict[int, Array]) -> Table:
    logs: Array = np.zeros(())
    for place in places:
        logs = np.add.outer(logs, sizes[place])
    return Table(places, np.exp2(logs))


def _are_sizes(values: Sequence[Value]) -> bool:
    return len(values) > 2 and all(isinstance(value, int) and not isinstance(value, bool) and value > 0 for value in values)
