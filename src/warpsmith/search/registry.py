"""Strategies by name, found by entry point (`warpsmith.strategies`), so that others can add theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

import numpy as np

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import broken_plugin, plugins
from warpsmith.search.base import Learner, Prior, Strategy
from warpsmith.space import Space
from warpsmith.spec.problems import did_you_mean

StrategyFactory: TypeAlias = Callable[[Space, np.random.Generator], Strategy]

GROUP = "warpsmith.strategies"
DEFAULT_STRATEGY = "gp"


def load_strategy(name: str) -> StrategyFactory:
    """The strategy's class. Raises InputError, with the names there are, for an unknown or broken one."""
    found = plugins(GROUP)
    if name not in found:
        listed = ", ".join(sorted(found)) or "none"
        raise InputError(f"unknown strategy {name!r}; there are: {listed}", hint=did_you_mean(name, found))
    try:
        return cast("StrategyFactory", found[name].load())
    except (ImportError, AttributeError) as error:
        raise broken_plugin("strategy", found[name], error) from error


def start_strategy(name: str, space: Space, rng: np.random.Generator, priors: Iterable[Prior] = ()) -> Strategy:
    """A strategy that has learnt from the priors in their order; whether it can is to be checked before."""
    strategy = load_strategy(name)(space, rng)
    for prior in priors:
        assert isinstance(strategy, Learner), name
        strategy.learn(prior)
    return strategy
