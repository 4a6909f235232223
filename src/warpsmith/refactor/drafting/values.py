"""The space of a draft: which values some configuration can have, and which one tries a value with the least else changed."""

from __future__ import annotations

import numpy as np

from warpsmith.core.configuration import Configuration, Value
from warpsmith.refactor.drafting.combine import Refactored, combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.space import Space

_LISTED_AT_MOST = 200_000
_SAMPLE = 20_000


def space_of_refactored(found: Refactored) -> Space:
    """Raises InputError when the original itself breaks a limit of the device."""
    kernel, limits = found.draft.kernel, found.draft.limits
    return Space.build(found.spec_parameters, found.constraints, found.launch, kernel.workloads, limits, likely=found.likely)


def with_possible_values(draft: Draft) -> Draft:
    """The draft without the values that are in no feasible configuration: no workload or limit allows them."""
    found = combined(draft)
    occurring = space_of_refactored(found).occurring_values()
    for parameter in found.parameters:
        for value in parameter.values:
            if value not in occurring[parameter.name]:
                draft = draft.without(parameter.name, value)
    return draft


def nearest_with(space: Space, name: str, value: Value) -> Configuration | None:
    """The feasible configuration with that value that differs least from the default; None if none was found."""
    plain = Configuration.of({**space.default, name: value})
    if plain in space:
        return plain
    listed = space.size <= _LISTED_AT_MOST
    rows = space.rows if listed else space.encoded(space.sample(_SAMPLE, np.random.default_rng(0)))
    column = next(i for i, parameter in enumerate(space.parameters) if parameter.name == name)
    having = rows[rows[:, column] == space.parameters[column].values.index(value)]
    if not len(having):
        return None
    changes = np.count_nonzero(having != space.encode(space.default), axis=1)
    return space.decode(having[int(changes.argmin())])
