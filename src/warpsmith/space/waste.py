"""Wasted work of a launch as a function of the parameters, computed before anything runs.

`ceildiv(width, TILE)` blocks of TILE elements cover more than the width, and units that find no block left wait for the others:
3 blocks on 2 units take as long as 4. How many blocks a GPU's unit runs at once depends on more than the launch, so there only
units that never get one count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Call
from warpsmith.core.hardware import Limits
from warpsmith.space.tables import Table, tabled
from warpsmith.spec.kernel import Launch, Parameter, Workload


def waste_of(parameters: Sequence[Parameter], launch: Launch, workloads: Sequence[Workload], limits: Limits) -> Table | None:
    """How often what is needed is doubled; None where the launch does not depend on the parameters, or does not tell."""
    named = frozenset().union(*(extent.names for extent in launch.grid))
    return tabled(parameters, named, workloads, limits, partial(_doublings, launch, limits))


def _doublings(launch: Launch, limits: Limits, names: Mapping[str, Any]) -> Array:
    found: Array = np.zeros(1)
    blocks: Array = np.ones(1)
    for extent in launch.grid:
        count = _at_least_one(extent, names)
        blocks = blocks * count
        if isinstance(extent.tree, Call) and extent.tree.function == "ceildiv":
            whole, part = (_at_least_one(extent.part(side), names) for side in extent.tree.arguments)
            found = found + np.log2(np.maximum(count * part / whole, 1.0))
    units = float(limits.compute_units)
    turns = np.maximum(blocks / units, 1.0) if limits.has_banked_scratchpad else np.ceil(blocks / units)
    return found + np.log2(turns * units / blocks)


def _at_least_one(expression: Expression, names: Mapping[str, Any]) -> Array:
    found: Array = np.maximum(expression.evaluate_many(names).astype(np.float64), 1.0)
    return found
