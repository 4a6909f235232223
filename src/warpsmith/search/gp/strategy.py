"""`GaussianProcess`: proposes the greatest expected improvement times the probability of success.

Two models of the same results take turns. To one, values that are near each other are much alike; to the other, any of them may
be special. Kernels are of both kinds, and where one model sees nothing to gain any more the other goes on.
"""

from __future__ import annotations

from math import inf, log, pi, sqrt

import numpy as np
from scipy.special import ndtr
from threadpoolctl import ThreadpoolController

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.search.base import Prior
from warpsmith.search.gp.candidates import LISTED_AT_MOST, Candidates, all_of, sampled_from
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.contexts import context_of
from warpsmith.search.gp.design import spread_out
from warpsmith.search.gp.feasibility import Feasibility
from warpsmith.search.gp.forecasts import Forecast, Forecasts
from warpsmith.search.gp.foresight import Foresight
from warpsmith.search.gp.model import Model, Predictions
from warpsmith.search.gp.observations import Observation, Observations
from warpsmith.search.visits import Visits
from warpsmith.space import Space

_IDENTITIES = (0.1, 0.9)  # of the two models
_FIRST = 8
# Where compilers tell a difference: so many more to choose the first ones from, and so many to choose each later one from.
_SPARE_FIRST = 16
_SHORT_LIST = 4
_FEWEST_TO_MODEL = 2
_LOOK_AROUND_EVERY = 6
# A sample of a large space is drawn anew after so many results: at first, then after so many for each there is, then at most.
# Every time all predictions are made anew, which costs by the results there are.
_RESAMPLED_AFTER = 8
_RESAMPLED_GROWTH = 0.15
_RESAMPLED_AFTER_AT_MOST = 50
_MARGIN = 2.0  # in deviations of the noise
_WIDTH_OF_95 = 2 * 1.96
_OPEN = (0.5, 2.0)  # relative, for an interval without ends: what a single launch says


class GaussianProcess:
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._visits = Visits(space, rng)
        self._libraries = ThreadpoolController()
        self._columns = Columns(space)
        self._feasibility = Feasibility(self._columns.tables)
        self._forecasts: list[Forecast] = []
        self._models: tuple[Model, ...] = ()
        self._candidates: Candidates | None = None
        self._sampled_until = 0
        self._hidden: tuple[Candidates, Array] | None = None
        self._hidden_until = 0  # of the visits
        self._first: list[int] | None = None
        self._informed = False
        self._told = Observations()
        self._outstanding: dict[int, Array] = {}
        self._foresight = Foresight()
        self._spare: list[int] | None = None
        self._promising: tuple[list[int], Array] | None = None  # until something is asked or told

    def learn(self, prior: Prior) -> None:
        context = context_of(prior, self._space, self._columns, self._rng)
        if context is not None:
            with self._libraries.limit(limits=1):
                forecast = Forecast(self._columns, context)
            if forecast.tells:
                self._forecasts.append(forecast)

    def ask(self, n: int = 1) -> list[Configuration]:
        chosen: list[Configuration] = []
        # The matrices are small: more threads only wait for each other, the more so beside compilers that keep the cores busy.
        with self._libraries.limit(limits=1):
            while len(chosen) < n and (number := self._next()) is not None:
                self._visits.add(number)
                self._promising = None
                self._outstanding[number] = self._seen(number)
                chosen.append(self._space[number])
        return chosen

    def shortlist(self) -> list[Configuration]:
        with self._libraries.limit(limits=1):
            wanted = [number for number in self._wanted() if number not in self._foresight]
        return [self._space[number] for number in wanted]

    def foresee(self, configuration: Configuration, resources: Resources | None) -> None:
        number = self._space.index(configuration)
        if number is not None:
            self._foresight.add(number, resources)

    def tell(self, evaluation: Evaluation) -> None:
        number = self._visits.mark(evaluation.configuration)
        self._promising = None
        if number is None:
            return
        self._outstanding.pop(number, None)
        row = self._seen(number)
        outcome = evaluation.outcome
        self._feasibility.add(row, succeeded=isinstance(outcome, Measured))
        if isinstance(outcome, Measured):
            slower = float(self._columns.expected(row[None, :])[0])
            self._told.add(number, Observation(row, log(outcome.score), _variance(outcome), slower))
            self._foresight.add(number, outcome.resources)

    def _seen(self, number: int) -> Array:
        row: Array = self._columns.of(self._space.row(number)[None, :])[0]
        return row

    def _wanted(self) -> list[int]:
        """What the next choice is among: of the first ones all, then those with the most promise."""
        first = self._begin()
        if not self._informed and (left := [number for number in first if number not in self._visits]):
            if self._spare is None and self._foresight.tells and all(number in self._foresight for number in left):
                self._spare = spread_out(self._space, self._columns, _SPARE_FIRST + 1, self._rng)[1:]
                return list(dict.fromkeys(number for number in self._spare if number not in self._visits))
            if self._spare:
                left = self._foresight.lightest(list(dict.fromkeys([*left, *self._spare])), len(left))
                self._first, self._spare = left, []
            return left
        if not self._foresight.tells or not self._can_model:
            return []
        return self._most_promising()[0]

    def _begin(self) -> list[int]:
        if self._first is None:
            self._first = spread_out(self._space, self._columns, _FIRST, self._rng)
            self._informed = bool(self._forecasts) or len(self._told) >= _FIRST
        return self._first

    @property
    def _can_model(self) -> bool:
        return len(self._told) >= _FEWEST_TO_MODEL or bool(self._forecasts)

    def _next(self) -> int | None:
        self._begin()
        # An earlier run or round has seen the space already: what it says is tried at once, and only now and then something else.
        if not self._informed or len(self._visits) % _LOOK_AROUND_EVERY == _LOOK_AROUND_EVERY - 1:
            while self._first:
                number = self._first.pop(0)
                if number not in self._visits:
                    return number
        if not self._can_model:
            return self._visits.random()
        numbers, promise = self._most_promising()
        if not numbers:
            return self._visits.random()
        # Where compilers tell no difference the logs have no say.
        logs = dict(zip(self._told.numbers, self._told.logs.tolist(), strict=True)) if self._foresight.tells else {}
        return numbers[self._foresight.chosen(numbers, promise, logs)]

    def _most_promising(self) -> tuple[list[int], Array]:
        """The one with the most promise, or as many as there is a choice among, the best first, and how promising they are."""
        if self._promising is None:
            candidates = self._current_candidates()
            predictions = self._model().predict(candidates, self._told, self._outstanding)
            promise = _promise(predictions) * self._feasibility.chance(candidates)
            promise[self._hidden_among(candidates)] = -1.0
            best = _greatest(promise, _SHORT_LIST if self._foresight.tells else 1)
            self._promising = [candidates.numbers[at] for at in best], promise[best]
        return self._promising

    def _hidden_among(self, candidates: Candidates) -> Array:
        """Which of the candidates were asked for already."""
        if self._hidden is None or self._hidden[0] is not candidates:
            self._hidden, self._hidden_until = (candidates, np.zeros(len(candidates), dtype=bool)), 0
        known, hidden = self._visits.since(self._hidden_until), self._hidden[1]
        for number in known:
            place = candidates.place(number)
            if place is not None:
                hidden[place] = True
        self._hidden_until += len(known)
        return hidden

    def _model(self) -> Model:
        """The one whose turn it is."""
        if not self._models:
            seen = (Columns(self._space, identity) for identity in _IDENTITIES)
            forecasts = Forecasts(self._forecasts)
            self._models = tuple(Model(columns, forecasts, self._rng) for columns in seen)
        return self._models[len(self._visits) % len(self._models)]

    def _current_candidates(self) -> Candidates:
        if self._space.size <= LISTED_AT_MOST:
            if self._candidates is None:
                self._candidates = all_of(self._space, self._columns)
        elif self._candidates is None or len(self._told) >= self._sampled_until:
            best = [self._told.numbers[at] for at in np.argsort(self._told.logs, kind="stable")]
            self._candidates = sampled_from(self._space, self._columns, best, self._rng)
            growth = round(_RESAMPLED_GROWTH * len(self._told))
            self._sampled_until = len(self._told) + min(max(_RESAMPLED_AFTER, growth), _RESAMPLED_AFTER_AT_MOST)
        return self._candidates


def _variance(outcome: Measured) -> float:
    """Of the logarithm of the score, by the intervals of its times: what was given up early is known less well."""
    known = ((low, high) if 0 < low <= high < inf else _OPEN for low, high in (time.ci95 for time in outcome.times))
    spreads = [log(high / low) / _WIDTH_OF_95 for low, high in known]
    return sum(spread**2 for spread in spreads) / len(spreads) ** 2 if spreads else 0.0


def _greatest(promise: Array, count: int) -> list[int]:
    """Places of the greatest, in their order; none that was asked for already."""
    if count == 1:
        best = [int(np.argmax(promise))]
    else:
        some = np.sort(np.argpartition(promise, -min(count, len(promise)))[-count:])
        best = some[np.argsort(-promise[some], kind="stable")].tolist()
    return [at for at in best if promise[at] >= 0]


def _promise(predictions: Predictions) -> Array:
    """Expected improvement on the best by more than noise; where there is none to improve on, what is predicted to be fast.

    Never negative. Without that margin a search spends itself on variations of the best that differ from it by chance.
    """
    mean, deviation, best = predictions.mean, predictions.deviation, predictions.best
    if best is not None:
        z = (best - _MARGIN * predictions.noise - mean) / deviation
        improvement: Array = deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / sqrt(2 * pi))
        if improvement.max() > 0:
            return np.maximum(improvement, 0.0)
    optimistic = mean - deviation
    promise: Array = optimistic.max() - optimistic
    return promise
