"""On recorded outcomes, a killed run resumed equals one never killed: started cold or warm."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits, Resources
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Outcome, Verdict
from warpsmith.record.run import RunHeader
from warpsmith.record.source import Source
from warpsmith.record.store import Store
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.space import Space
from warpsmith.spec.kernel import Launch, Parameter, Workload
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.rounds.search import asked_ahead, search
from warpsmith.tuning.rounds.warm import warm_strategy

HEADER = RunHeader("k", "k/kernel.toml", "f", "cpu", "none", DEFAULT_STRATEGY, 5, {}, {})
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

    compilers = 4

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        return [
            Resources(spill_bytes=8 * int(c["B"])) if isinstance(self.outcomes[c], Measured) else None for c in configurations
        ]

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
    strategy: str,
    space: Space,
    evaluate: Recorded,
    recorded: dict[Configuration, Evaluation],
    budget: int,
    sources: tuple[Source, ...] = (),
    at_once: int = 1,
) -> list[Evaluation]:
    """As a live run does it: the baseline is there before the first question, and counts."""

    def record(evaluation: Evaluation) -> None:
        recorded[evaluation.configuration] = evaluation

    first = recorded.get(space.default) or evaluate(space.default)
    record(first)
    if budget == 1:
        return [first]
    rest = search(
        warm_strategy(strategy, space, 5, sources),
        evaluate,
        budget=Budget(budget - 1),
        recorded=dict(recorded),
        record=record,
        report=lambda *_: None,
        elapsed_s=lambda: 0.0,
        known=[first],
        lookahead=asked_ahead(at_once),
    )
    return [first, *rest]


def _killed_and_resumed(
    strategy: str,
    die_after: int,
    seed: int,
    budget: int,
    sources: tuple[Source, ...] = (),
    kept_sources: tuple[Source, ...] = (),
    at_once: int = 1,
) -> None:
    space = _space()
    table = _table(space, seed)
    whole = _run(strategy, space, Recorded(table), {}, budget, sources, at_once)

    kept: dict[Configuration, Evaluation] = {}
    first = Recorded(table, die_after)
    try:
        _run(strategy, space, first, kept, budget, sources, at_once)
    except KilledError:
        assert len(kept) == die_after
    second = Recorded(table)
    resumed = _run(strategy, space, second, kept, budget, kept_sources, at_once)

    assert resumed == whole
    assert len({e.configuration for e in whole}) == len(whole) <= budget
    assert not set(first.evaluated) & set(second.evaluated), "nothing is evaluated twice"
    assert len(first.evaluated) + len(second.evaluated) == len(whole), "nothing is skipped"


@pytest.mark.parametrize("strategy", ["local", "random", "exhaustive"])
@settings(deadline=None)  # a busy machine is no failure
@given(die_after=st.integers(0, 30), seed=st.integers(0, 1000), budget=st.integers(1, 80))
def test_killed_and_resumed_equals_never_killed(strategy: str, die_after: int, seed: int, budget: int):
    _killed_and_resumed(strategy, die_after, seed, budget)


@settings(max_examples=8, deadline=None)
@given(die_after=st.integers(0, 30), seed=st.integers(0, 1000), budget=st.integers(1, 25), at_once=st.integers(1, 8))
def test_the_default_strategy_too(die_after: int, seed: int, budget: int, at_once: int):
    _killed_and_resumed(DEFAULT_STRATEGY, die_after, seed, budget, at_once=at_once)


@settings(max_examples=8, deadline=None)
@given(
    die_after=st.integers(0, 30),
    seed=st.integers(0, 1000),
    budget=st.integers(1, 25),
    source_seeds=st.lists(st.integers(0, 1000), min_size=1, max_size=2),
    known=st.integers(2, 60),
)
def test_a_warm_run_too_when_its_sources_are_left_only_in_the_record(
    die_after: int, seed: int, budget: int, source_seeds: list[int], known: int
):
    sources = tuple(_source(number, known) for number in source_seeds)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        run = store.begin(HEADER, sources)
        _killed_and_resumed(DEFAULT_STRATEGY, die_after, seed, budget, sources, store.sources(run))


def test_a_source_changes_the_course():
    """Else the tests above would say nothing about sources."""
    space = _space()
    table = _table(space, 1)
    courses = [_run(DEFAULT_STRATEGY, space, Recorded(table), {}, 12, (_source(seed, 60),)) for seed in (2, 3)]
    cold = _run(DEFAULT_STRATEGY, space, Recorded(table), {}, 12)
    assert courses[0] != courses[1]
    assert cold not in courses
    assert all(course[0].configuration == space.default and len(course) == 12 for course in courses), "the baseline counts"


def _source(seed: int, known: int) -> Source:
    evaluations = tuple(Evaluation(c, outcome, 0.25, 9.0) for c, outcome in list(_table(_space(), seed).items())[:known])
    return Source(f"earlier-{seed}", "k", "gpu", evaluations, len(evaluations))


def test_the_budget_is_kept():
    space = _space()
    assert len(_run("random", space, Recorded(_table(space, 0)), {}, 7)) == 7
    assert len(_run("exhaustive", space, Recorded(_table(space, 0)), {}, 1000)) == len(space) == 60
