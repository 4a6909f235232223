"""`Columns`: configurations as the model sees them. A column for each parameter, then one for each quantity the space speaks of.

What a kernel does may hang on a quotient (threads along an axis) more than on either size. Without a column of its own that would
be an interaction, to be learnt from many results; with one it is a length like any other.
"""

from __future__ import annotations

from math import log2, prod

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.gp.encoding import (
    IDENTITY,
    UNLIKELY,
    WASTED,
    between,
    distances,
    handicaps,
    handicaps_of_blocks,
    handicaps_of_rows,
)
from warpsmith.space import Quantity, Space
from warpsmith.spec.kernel import Parameter

_QUANTITIES_AT_MOST = 8
_COMBINATIONS_AT_MOST = 10_000


class Columns:
    """Per column: `tables` of squared distances between its values, and how many values it has."""

    def __init__(self, space: Space, identity: float = IDENTITY) -> None:
        own = [distances(parameter.values, identity) for parameter in space.parameters]
        derived = _derived(space)
        self._handicaps = _handicaps(space)
        self.tables = [*own, *(table for _, _, table in derived)]
        self.sizes = tuple(len(table) for table in self.tables)
        self.parameters = len(own)
        self._codes = [(places, codes) for places, codes, _ in derived]

    def of(self, rows: Array) -> Array:
        """Encoded configurations with the columns of the quantities behind those of the parameters."""
        further = [codes[tuple(rows[:, place] for place in places)] for places, codes in self._codes]
        return np.column_stack([rows, *further]).astype(np.int32) if further else rows

    def expected(self, rows: Array) -> Array:
        """How much slower than others they are expected to be; the Gaussian process models what comes on top."""
        slower: Array = np.zeros(len(rows))
        for places, handicap in self._handicaps:
            slower += handicap[tuple(rows[:, place] for place in places)]
        return slower


def _handicaps(space: Space) -> list[tuple[tuple[int, ...], Array]]:
    """Each with the places of the parameters whose values it is looked up by."""
    found: list[tuple[tuple[int, ...], Array]] = []
    for at, parameter in enumerate(space.parameters):
        found.append(((at,), handicaps(parameter.values, parameter.likely)))
    if (block := space.threads) is not None:
        found.append((block.places, handicaps_of_blocks(block.values)))
    if (row := space.neighbouring_threads) is not None:
        found.append((row.places, handicaps_of_rows(row.values)))
    if (waste := space.waste) is not None:
        found.append((waste.places, WASTED * waste.values))
    found += [(table.places, UNLIKELY * table.values) for table in space.unlikely]
    return found


def _derived(space: Space) -> list[tuple[list[int], Array, Array]]:
    """For each quantity: its parameters' places, the code of its value for each combination of theirs, the codes' distances."""
    places = {parameter.name: place for place, parameter in enumerate(space.parameters)}
    found: list[tuple[list[int], Array, Array]] = []
    for quantity in space.quantities:
        involved = [space.parameters[places[name]] for name, _ in quantity]
        if not all(_is_size(parameter) for parameter in involved):
            continue
        if prod(len(parameter.values) for parameter in involved) > _COMBINATIONS_AT_MOST:
            continue
        values, codes = np.unique(_logarithms(quantity, involved), return_inverse=True)
        if len(values) > 1:
            codes = codes.reshape([len(parameter.values) for parameter in involved])
            found.append(([places[name] for name, _ in quantity], codes, between(values)))
    return found[:_QUANTITIES_AT_MOST]


def _is_size(parameter: Parameter) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in parameter.values)


def _logarithms(quantity: Quantity, involved: list[Parameter]) -> Array:
    total: Array = np.zeros(1)
    for (_, power), parameter in zip(quantity, involved, strict=True):
        total = np.add.outer(total, [power * log2(float(value)) for value in parameter.values])
    return total.ravel().round(9)
