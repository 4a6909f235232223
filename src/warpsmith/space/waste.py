"""How much of a launch is for nothing, as a function of the parameters: known before anything runs.

`ceildiv(width, TILE)` blocks of TILE elements cover more than the width, and units that find no block left wait for the others:
3 blocks on 2 units take as long as 4. How many blocks a GPU's unit runs at once depends on more than the launch, so there only
units that never get one count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Call
from warpsmith.core.hardware import Limits
from warpsmith.spec.kernel import Launch, Parameter, Workload

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_COMBINATIONS_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Waste:
    """`doublings` has an axis for each of the parameters at `places`, over its values: how often what is needed is doubled."""

    places: tuple[int, ...]
    doublings: Array


def waste_of(parameters: Sequence[Parameter], launch: Launch, workloads: Sequence[Workload], limits: Limits) -> Waste | None:
    """The mean over the workloads that count; None where the launch does not depend on the parameters, or does not tell."""
    named = frozenset().union(*(extent.names for extent in launch.grid))
    places = tuple(place for place, parameter in enumerate(parameters) if parameter.name in named)
    shape = [len(parameters[place].values) for place in places]
    counted = [workload for workload in workloads if not workload.heldout]
    if not places or not counted or prod(shape) > _COMBINATIONS_AT_MOST:
        return None
    values = np.meshgrid(*(np.array(parameters[place].values) for place in places), indexing="ij")
    chosen = {parameters[place].name: value.ravel() for place, value in zip(places, values, strict=True)}
    weights = [workload.weight for workload in counted]
    try:
        each = [_doublings(launch, {**limits.names(), **workload.sizes, **chosen}, limits) for workload in counted]
    except (InputError, TypeError, ValueError):
        return None
    mean = np.average([np.broadcast_to(one, prod(shape)) for one in each], axis=0, weights=weights)
    return Waste(places, mean.reshape(shape))


def _doublings(launch: Launch, names: dict[str, Any], limits: Limits) -> Array:
    found: Array = np.zeros(1)
    blocks: Array = np.ones(1)
    for extent in launch.grid:
        count = np.maximum(_value(extent, names), 1.0)
        blocks = blocks * count
        if isinstance(extent.tree, Call) and extent.tree.function == "ceildiv":
            whole, part = (np.maximum(_value(extent.part(side), names), 1.0) for side in extent.tree.arguments)
            found = found + np.log2(np.maximum(count * part / whole, 1.0))
    units = float(limits.compute_units)
    turns = np.maximum(blocks / units, 1.0) if limits.is_gpu else np.ceil(blocks / units)
    return found + np.log2(turns * units / blocks)


def _value(expression: Expression, names: dict[str, Array | Value]) -> Array:
    return expression.evaluate_many({name: names[name] for name in expression.names}).astype(np.float64)
