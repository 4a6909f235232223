"""Strategies by name, found by entry point (`warpsmith.strategies`), so that others can add theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias, cast

import numpy as np

from warpsmith.core.errors import InputError
from warpsmith.search.base import Learner, Prior, Strategy
from warpsmith.space import Space
from warpsmith.spec.problems import nearest

StrategyFactory: TypeAlias = Callable[[Space, np.random.Generator], Strategy]

GROUP = "warpsmith.strategies"
DEFAULT_STRATEGY = "gp"


def load_strategy(name: str) -> StrategyFactory:
    """The strategy's class. Raises InputError, with the names there are, for an unknown or broken one."""
    found = _found()
    if name not in found:
        near = nearest(name, found)
        listed = ", ".join(sorted(found)) or "none"
        raise InputError(f"no strategy {name!r}; there are: {listed}", hint=near if near and near.startswith("did") else None)
    entry = found[name]
    try:
        return cast("StrategyFactory", entry.load())
    except (ImportError, AttributeError) as error:
        hint = f"reinstall the package that provides {entry.value!r}"
        raise InputError(f"strategy {name!r} cannot be loaded: {error}", hint=hint) from error


def start_strategy(name: str, space: Space, rng: np.random.Generator, priors: Iterable[Prior] = ()) -> Strategy:
    """A strategy that has learnt from the priors in their order; whether it can is to be checked before."""
    strategy = load_strategy(name)(space, rng)
    for prior in priors:
        assert isinstance(strategy, Learner), name
        strategy.learn(prior)
    return strategy


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
