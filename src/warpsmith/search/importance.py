"""Parameter importance: a model is fitted to a run's log times, and the variance of its predictions is decomposed.

A parameter's part is the variance of the mean prediction at each of its values; a pair's is that of the mean at each pair of
values, beyond what the two have by themselves; both relative to the variance of the predictions over the feasible configurations.
Predictions vary less than times do, by what the model does not explain. So a share is that part times the model's R²: on recorded
spaces this is nearer to the shares of the times themselves than the part is. What is left over is unexplained, or takes three
parameters and more. Where constraints tie parameters together, shares overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.outcome import Evaluation
from warpsmith.space import Space

FEWEST = 15
PREDICTED_AT_MOST = 20_000


@dataclass(frozen=True, slots=True)
class ValueEffect:
    """`slowdown`: predicted time over that of the parameter's best value, the geometric mean over everything else.

    `measured` counts the results with this value; where there are none, the prediction rests on other values alone.
    """

    value: Value
    slowdown: float
    measured: int


@dataclass(frozen=True, slots=True)
class ParameterEffect:
    """`values` in the parameter's own order, without those that no configuration looked at has."""

    name: str
    share: float
    values: tuple[ValueEffect, ...]

    @property
    def best(self) -> ValueEffect:
        return min(self.values, key=lambda effect: effect.slowdown)

    @property
    def worst(self) -> ValueEffect:
        return max(self.values, key=lambda effect: effect.slowdown)


@dataclass(frozen=True, slots=True)
class PairEffect:
    first: str
    second: str
    share: float


@dataclass(frozen=True, slots=True)
class Importance:
    """Parameters and pairs, those with the largest share first; parameters with a single value are left out.

    `r2` is the model's own, each result predicted from the others. `spread` is how many times slower the slow end of the
    predictions (the 95th percentile) is than the fast end (the 5th). `sampled`: the space is too large to predict all of it.
    """

    measured: int
    failed: int
    predicted: int
    sampled: bool
    r2: float
    spread: float
    parameters: tuple[ParameterEffect, ...]
    pairs: tuple[PairEffect, ...]


@dataclass(frozen=True, slots=True)
class TooFewResults:
    """A model of so few results would be a guess."""

    measured: int
    needed: int = FEWEST


def importance_of(space: Space, evaluations: Sequence[Evaluation], *, seed: int = 0) -> Importance | TooFewResults:
    """Of a run or of a recording. Evaluations of another space are left out. The same arguments give the same answer."""
    known: dict[int, float] = {}
    failed = 0
    for evaluation in evaluations:
        number = space.index(evaluation.configuration)
        if number is None:
            continue
        if evaluation.score is None:
            failed += 1
        else:
            known[number] = float(np.log(evaluation.score))
    if len(known) < FEWEST:
        return TooFewResults(len(known))
    from warpsmith.search.surrogate import fit_surrogate  # noqa: PLC0415 - SciPy takes long to load, and few commands need it

    rng = np.random.default_rng(seed)
    rows = space.encoded(list(known))
    model = fit_surrogate([parameter.values for parameter in space.parameters], rows, np.array(list(known.values())), rng)
    sampled = space.size > PREDICTED_AT_MOST
    configurations = space.encoded(space.sample(PREDICTED_AT_MOST, rng)) if sampled else space.rows
    effects = _Effects(space, configurations, model.predict(configurations), max(model.r2, 0.0), sampled)
    return Importance(
        measured=len(known),
        failed=failed,
        predicted=len(configurations),
        sampled=sampled,
        r2=model.r2,
        spread=effects.spread,
        parameters=effects.parameters(rows),
        pairs=effects.pairs(),
    )


class _Effects:
    """The variance of predicted log times, by parameters and pairs of them. `explained`: how much of the measured one it is."""

    def __init__(self, space: Space, rows: Array, predicted: Array, explained: float, sampled: bool) -> None:
        self._names = [parameter.name for parameter in space.parameters]
        self._values = [parameter.values for parameter in space.parameters]
        self._rows = rows
        self._predicted = predicted
        self._explained = explained
        self._sampled = sampled
        self._total = float(predicted.var())
        self._shares = [self._share(rows[:, column], len(values)) for column, values in enumerate(self._values)]

    @property
    def spread(self) -> float:
        low, high = np.quantile(self._predicted, [0.05, 0.95])
        return float(np.exp(high - low))

    def parameters(self, measured: Array) -> tuple[ParameterEffect, ...]:
        """`measured`: the configurations that have results, encoded."""
        found = []
        for column in self._varied():
            values, places = self._values[column], self._rows[:, column]
            counts = np.bincount(places, minlength=len(values))
            sums = np.bincount(places, self._predicted, minlength=len(values))
            means = {place: sums[place] / counts[place] for place in np.flatnonzero(counts).tolist()}
            best = min(means.values())
            results = np.bincount(measured[:, column], minlength=len(values))
            effects = (ValueEffect(values[p], float(np.exp(mean - best)), int(results[p])) for p, mean in means.items())
            found.append(ParameterEffect(self._names[column], self._shares[column], tuple(effects)))
        return tuple(sorted(found, key=lambda effect: -effect.share))

    def pairs(self) -> tuple[PairEffect, ...]:
        found = []
        for one, other in combinations(self._varied(), 2):
            size = len(self._values[other])
            both = self._share(self._rows[:, one] * size + self._rows[:, other], len(self._values[one]) * size)
            beyond = max(both - self._shares[one] - self._shares[other], 0.0)
            found.append(PairEffect(self._names[one], self._names[other], beyond))
        return tuple(sorted(found, key=lambda effect: -effect.share))

    def _varied(self) -> list[int]:
        return [column for column, values in enumerate(self._values) if len(values) > 1]

    def _share(self, groups: Array, size: int) -> float:
        """How much of the variance lies between the groups."""
        if not self._total > 0:
            return 0.0
        counts = np.bincount(groups, minlength=size)
        occupied = np.flatnonzero(counts)
        means = np.bincount(groups, self._predicted, minlength=size)[occupied] / counts[occupied]
        count = len(groups)
        between = float(counts[occupied] @ (means - self._predicted.mean()) ** 2) / count
        if self._sampled and count > len(occupied):
            # The means of a sample differ by chance as well: take off what they would if the groups made no difference.
            between -= (len(occupied) - 1) / (count - len(occupied)) * max(self._total - between, 0.0)
        return self._explained * min(max(between, 0.0) / self._total, 1.0)
