"""A search whose measurements are made by the user's program, in any order, any number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.outcome import Evaluation, LaunchFailed, Measured
from warpsmith.record.foreign.recording import VERIFIED_ELSEWHERE
from warpsmith.search.base import Learner, Prior
from warpsmith.search.importance import Importance, TooFewResults, importance_of
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Parameter
from warpsmith.spec.problems import nearest


@dataclass(frozen=True, slots=True)
class Best:
    """`time` is what was told of it."""

    configuration: Configuration
    time: float


class Study:
    """A search over parameters and constraints: `ask`, measure, `tell`.

    study = Study({"BLOCK": [64, 128, 256], "VEC": [1, 2, 4]}, ["BLOCK * VEC <= 512"])
    best = study.minimize(lambda configuration: time_of(**configuration), evaluations=6)

    `default` is where the search begins (the first allowed configuration unless given); `known` are results from elsewhere,
    such as another device's: they guide the search but are not its results. Whether what was measured is right is
    nobody's business but the caller's.
    """

    def __init__(
        self,
        parameters: Mapping[str, Iterable[Value]] | Space,
        constraints: Iterable[str] = (),
        *,
        default: Mapping[str, Value] | None = None,
        known: Iterable[tuple[Mapping[str, Value], float]] = (),
        strategy: str = DEFAULT_STRATEGY,
        seed: int = 0,
    ) -> None:
        """Raises InputError for values, constraints and defaults that cannot be."""
        self.space = parameters if isinstance(parameters, Space) else _space(parameters, constraints, default)
        self._strategy = load_strategy(strategy)(self.space, np.random.default_rng(seed))
        earlier = tuple(Evaluation(Configuration.of(configuration), _measured(time)) for configuration, time in known)
        if earlier:
            if not isinstance(self._strategy, Learner):
                raise InputError(f"the strategy {strategy!r} cannot start from known results", hint=f"{DEFAULT_STRATEGY!r} does")
            self._strategy.learn(Prior("known results", earlier))
        self._told: dict[Configuration, Evaluation] = {}

    def ask(self, n: int = 1) -> list[Configuration]:
        """Up to `n` configurations not asked for before; fewer, or none, once there are no more."""
        return self._strategy.ask(n)

    def tell(self, configuration: Mapping[str, Value], result: float | str) -> None:
        """A time, in whatever unit, the less the better; or a string: why there is none.

        Raises InputError for a configuration that is not allowed, an invalid time, and one that was told before.
        """
        whole = self._checked(configuration)
        self._tell(Evaluation(whole, LaunchFailed(result) if isinstance(result, str) else _measured(result)))

    def minimize(self, measure: Callable[[Configuration], float], evaluations: int) -> Best | None:
        """Ask, measure and tell so many times. What `measure` raises as `ValueError` or `RuntimeError` counts as a failure."""
        for _ in range(evaluations):
            for configuration in self.ask():
                try:
                    result: float | str = measure(configuration)
                except (ValueError, RuntimeError) as error:
                    result = str(error) or type(error).__name__
                self.tell(configuration, result)
        return self.best

    @property
    def best(self) -> Best | None:
        found = [evaluation for evaluation in self.evaluations if evaluation.score is not None]
        if not found:
            return None
        least = min(found, key=lambda evaluation: evaluation.score or 0.0)
        return Best(least.configuration, least.score or 0.0)

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """What was told, in that order."""
        return tuple(self._told.values())

    def importance(self) -> Importance | TooFewResults:
        """Which parameters mattered, and which act together."""
        return importance_of(self.space, list(self.evaluations))

    def _checked(self, configuration: Mapping[str, Value]) -> Configuration:
        whole, names = Configuration.of(dict(configuration)), [parameter.name for parameter in self.space.parameters]
        if sorted(whole) != sorted(names):
            raise InputError(f"({whole}) is not in the space: its parameters are {', '.join(names)}")
        whole = Configuration.of({name: configuration[name] for name in names})
        if whole not in self.space:
            raise InputError(f"({whole}) is not in the space: {'; '.join(map(str, self.space.explain(whole)))}")
        if whole in self._told:
            raise InputError(f"({whole}) was already told")
        return whole

    def _tell(self, evaluation: Evaluation) -> None:
        self._told[evaluation.configuration] = evaluation
        self._strategy.tell(evaluation)


def _measured(time: float) -> Measured:
    if not (math.isfinite(time) and time > 0):
        raise InputError(
            f"a time must be positive and finite, not {time}", hint="a positive number, or a string giving the failure reason"
        )
    return Measured(VERIFIED_ELSEWHERE, (), float(time))


def _space(parameters: Mapping[str, Iterable[Value]], constraints: Iterable[str], default: Mapping[str, Value] | None) -> Space:
    values = {name: tuple(given) for name, given in parameters.items()}
    for name, given in values.items():
        if not given or len(set(given)) != len(given):
            raise InputError(f"{name} has {'a value twice' if given else 'no values'}: {list(given)}")
    first = {name: given[0] for name, given in values.items()} if default is None else dict(default)
    if first.keys() != values.keys():
        raise InputError(f"the default has {', '.join(first)}, the parameters are {', '.join(values)}")
    tunables = tuple(Parameter(name, given, first[name]) for name, given in values.items())
    rules = tuple(Constraint(Expression.parse(text)) for text in constraints)
    for rule in rules:
        if unknown := sorted(rule.expression.names - values.keys()):
            raise InputError(f"{rule.expression} uses unknown names: {', '.join(unknown)}", hint=nearest(unknown[0], values))
    return Space.of_values(tunables, rules, default=None if default is None else Configuration.of(first))
