"""Optuna's samplers as strategies; there only when Optuna is (`pip install 'warpsmith[optuna]'`).

Optuna suggests a position for each parameter and knows no constraints. A suggestion that is infeasible or was tried already
goes to the nearest configuration that is neither; the suggested trial is then closed, and one with what is really evaluated
takes over its place, so Optuna learns from true points only. A failure is told as infinitely slow: these samplers go by rank.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.errors import UnavailableError
from warpsmith.search.repair import Repair
from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space

try:
    import cmaes  # noqa: F401 - Optuna loads it when its sampler first runs: too late
    import optuna
except ImportError as missing:
    raise UnavailableError(f"the Optuna strategies need {missing.name}", hint="pip install 'warpsmith[optuna]'") from missing


class OptunaStrategy(Stepwise):
    """A subclass says which sampler it is."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._repair = Repair(space, self._visits, rng)
        self._kinds = {
            parameter.name: self._kind(len(parameter.values), bool(ordered))
            for parameter, ordered in zip(space.parameters, self._repair.ordered, strict=True)
        }
        self._trials: dict[int, int] = {}  # outstanding: a configuration's number → its trial's
        self._study = self._new_study(int(rng.integers(2**31)))

    @abstractmethod
    def _sampler(self, seed: int) -> Any: ...

    def _kind(self, size: int, ordered: bool) -> Any:  # noqa: ARG002 - for those that can use an order
        """The distribution of a parameter with so many values."""
        return optuna.distributions.CategoricalDistribution(tuple(range(size)))

    def _propose(self) -> int | None:
        if self._visits.exhausted:
            return None
        trial = self._study.ask(self._kinds)
        suggested = np.array([trial.params[name] for name in self._kinds], dtype=np.int64)
        best = min(self._scores, key=self._scores.__getitem__, default=self._default)
        number = self._repair.nearest(suggested, anchor=None if best is None else self._space.row(best))
        if number is None:
            return None
        chosen = self._space.row(number)
        if np.array_equal(chosen, suggested):
            self._trials[number] = trial.number
        else:
            closed = self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            # What a sampler notes on its trial (CMA-ES: the generation, its own state) goes with it.
            self._trials[number] = self._add(chosen, state=optuna.trial.TrialState.RUNNING, system_attrs=closed.system_attrs)
        return number

    def _learn(self, index: int) -> None:
        score = self._scores[index]
        trial = self._trials.pop(index, None)
        if trial is not None:
            self._study.tell(trial, score)
        else:  # the default, or told unasked
            self._add(self._space.row(index), value=score)

    def _add(self, row: Array, **what: Any) -> int:
        params = {name: int(at) for name, at in zip(self._kinds, row, strict=True)}
        self._study.add_trial(optuna.trial.create_trial(params=params, distributions=self._kinds, **what))
        return len(self._study.get_trials(deepcopy=False)) - 1

    def _new_study(self, seed: int) -> Any:
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # it announces every study
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.create_study(direction="minimize", sampler=self._sampler(seed))
        finally:
            optuna.logging.set_verbosity(verbosity)


class OptunaTpe(OptunaStrategy):
    """Tree-structured Parzen estimators; outstanding trials count as slow ones, so that a batch spreads.

    Values are choices, not numbers: on recorded spaces that came nearer to the optimum (.985 against .929 after 200).
    """

    def _sampler(self, seed: int) -> Any:
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


class OptunaCmaEs(OptunaStrategy):
    """Covariance matrix adaptation; parameters whose values have no order are drawn at random.

    Without Optuna's margin for whole numbers: that variant learns from the point it drew, not from the one that was evaluated.
    """

    def _kind(self, size: int, ordered: bool) -> Any:
        return optuna.distributions.IntDistribution(0, size - 1) if ordered else super()._kind(size, ordered)

    def _sampler(self, seed: int) -> Any:
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)


class OptunaRandom(OptunaStrategy):
    """Independent values for each parameter: unlike `random`, not uniform over the feasible configurations."""

    def _sampler(self, seed: int) -> Any:
        return optuna.samplers.RandomSampler(seed=seed)
