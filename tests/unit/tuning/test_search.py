"""On recorded outcomes, a killed run resumed equals one never killed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Outcome, Verdict
from warpsmith.search.registry import load_strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Launch, Parameter, Workload
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.search import search

GOOD = Verdict((ArgumentCheck("w", "out", True, 0.0),))
PARAMETERS = (Parameter("A", (1, 2, 4, 8, 16), 4), Parameter("B", (0, 1, 2), 0), Parameter("C", (1, 2, 3, 4), 1))


def _space() -> Space:
    one = Expression.parse(1)
    launch = Launch((one,), (one,), Expression.parse(0))
    return Space.build(PARAMETERS, (), launch, (Workload("w", {}),), Limits(1024, 1024, 1024, 64, 49152, 32, 2))


class KilledError(Exception):
    pass


class Recorded:
    """Evaluates from a table, and can be 'killed' after so many evaluations."""

    def __init__(self, outcomes: Mapping[Configuration, Outcome], die_after: int | None = None) -> None:
        self.outcomes = outcomes
        self.die_after = die_after
        self.evaluated: list[Configuration] = []

    def prefetch(self, configuration: Configuration) -> None: ...

    def observe(self, evaluation: Evaluation) -> None: ...

    def __call__(self, configuration: Configuration) -> Evaluation:
        if self.die_after is not None and len(self.evaluated) >= self.die_after:
            raise KilledError
        self.evaluated.append(configuration)
        return Evaluation(configuration, self.outcomes[configuration])


def _table(space: Space, seed: int) -> dict[Configuration, Outcome]:
    rng = np.random.default_rng(seed)
    return {c: CompileFailed("no") if rng.random() < 0.2 else Measured(GOOD, (), float(rng.uniform(0.2, 3))) for c in space}


def _run(
    strategy: str, space: Space, evaluate: Recorded, recorded: dict[Configuration, Evaluation], budget: int
) -> list[Evaluation]:
    def record(evaluation: Evaluation) -> None:
        recorded[evaluation.configuration] = evaluation

    return search(
        load_strategy(strategy)(space, np.random.default_rng(5)),
        evaluate,
        budget=Budget(budget),
        recorded=dict(recorded),
        record=record,
        report=lambda *_: None,
        elapsed_s=lambda: 0.0,
    )


@pytest.mark.parametrize("strategy", ["local", "random", "exhaustive"])
@given(die_after=st.integers(0, 30), seed=st.integers(0, 1000), budget=st.integers(1, 80))
def test_killed_and_resumed_equals_never_killed(strategy: str, die_after: int, seed: int, budget: int):
    space = _space()
    table = _table(space, seed)
    whole = _run(strategy, space, Recorded(table), {}, budget)

    kept: dict[Configuration, Evaluation] = {}
    first = Recorded(table, die_after)
    try:
        _run(strategy, space, first, kept, budget)
    except KilledError:
        assert len(kept) == die_after
    second = Recorded(table)
    resumed = _run(strategy, space, second, kept, budget)

    assert resumed == whole
    assert not set(first.evaluated) & set(second.evaluated), "nothing is evaluated twice"
    assert len(first.evaluated) + len(second.evaluated) == len(whole), "nothing is skipped"


def test_the_budget_is_kept():
    space = _space()
    assert len(_run("random", space, Recorded(_table(space, 0)), {}, 7)) == 7
    assert len(_run("exhaustive", space, Recorded(_table(space, 0)), {}, 1000)) == len(space) == 60
