"""`Table`: a number for each combination of some parameters' values, known before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.spec.kernel import Parameter, Workload

COMBINATIONS_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Table:
    """`values` has an axis for each of the parameters at `places`, over its values."""

    places: tuple[int, ...]
    values: Array


def tabled(
    parameters: Sequence[Parameter],
    named: Collection[str],
    workloads: Sequence[Workload],
    limits: Limits,
    computed: Callable[[Mapping[str, Any]], Array],
) -> Table | None:
    """The mean over the workloads that count of what is `computed` from the `named` parameters' values, sizes and limits.

    None where no parameter is named, where there are too many combinations, or where some of them cannot be computed.
    """
    places = tuple(place for place, parameter in enumerate(parameters) if parameter.name in named)
    shape = [len(parameters[place].values) for place in places]
    counted = [workload for workload in workloads if not workload.heldout]
    if not places or not counted or prod(shape) > COMBINATIONS_AT_MOST:
        return None
    values = np.meshgrid(*(np.array(parameters[place].values) for place in places), indexing="ij")
    chosen = {parameters[place].name: value.ravel() for place, value in zip(places, values, strict=True)}
    try:
        each = [computed({**limits.names(), **workload.sizes, **chosen}) for workload in counted]
    except (InputError, TypeError, ValueError):
        return None
    weights = [workload.weight for workload in counted]
    mean = np.average([np.broadcast_to(one, prod(shape)) for one in each], axis=0, weights=weights)
    return Table(places, mean.reshape(shape))
