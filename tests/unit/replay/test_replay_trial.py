"""One trial follows the recording exactly, and a warm start gives the strategy what an earlier run would have kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.record.foreign import Recording, load_recording
from warpsmith.replay.trial import ReplayStopped, prior_from, run_trial
from warpsmith.search import registry
from warpsmith.search.base import Prior
from warpsmith.space import Space

WriteCache = Callable[..., Path]


class Curious:
    """Asks for the space in order and keeps everything that it is told."""

    made: ClassVar[list[Curious]] = []

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self.space = space
        self.next = 0
        self.told: list[Evaluation] = []
        self.priors: list[Prior] = []
        self.asked_before_learning = False
        Curious.made.append(self)

    def ask(self, n: int = 1) -> list[Configuration]:
        assert n == 1, "nothing is asked ahead: every answer counts for the next question"
        self.next += 1
        return [self.space[self.next - 1]] if self.next <= len(self.space) else []

    def tell(self, evaluation: Evaluation) -> None:
        self.told.append(evaluation)

    def learn(self, prior: Prior) -> None:
        self.asked_before_learning = self.next > 0
        self.priors.append(prior)


@pytest.fixture
def curious(monkeypatch: pytest.MonkeyPatch) -> type[Curious]:
    Curious.made.clear()
    monkeypatch.setattr(registry, "load_strategy", lambda name: Curious)
    return Curious


@pytest.fixture
def recording(write_cache: WriteCache) -> Recording:
    return load_recording(write_cache(result=lambda block, tile, padding: "RuntimeFailedConfig" if tile == 3 else float(block)))


def test_the_strategy_is_told_what_is_recorded(curious: type[Curious], recording: Recording):
    trace = run_trial(recording, "curious", np.random.default_rng(0), evaluations=100)
    assert trace.numbers == tuple(range(24)), "the space ends before the budget"
    assert curious.made[0].told == list(recording.evaluations)


def test_the_budget_ends_a_trial(recording: Recording):
    trace = run_trial(recording, "random", np.random.default_rng(3), evaluations=7)
    assert len(trace.numbers) == len(set(trace.numbers)) == 7
    assert trace.strategy_s > 0


def test_learning_comes_before_the_first_question(curious: type[Curious], recording: Recording):
    prior = Prior("elsewhere", recording.evaluations[:3])
    run_trial(recording, "curious", np.random.default_rng(0), evaluations=2, prior=prior)
    assert curious.made[0].priors == [prior]
    assert not curious.made[0].asked_before_learning


def test_a_prior_is_the_same_strategys_run_on_the_source(recording: Recording):
    prior = prior_from(recording, "local", np.random.default_rng(5), evaluations=9)
    trace = run_trial(recording, "local", np.random.default_rng(5), evaluations=9)
    assert prior.source == recording.name
    assert prior.evaluations == tuple(recording.evaluation(number) for number in trace.numbers)
    assert any(evaluation.score is None for evaluation in prior.evaluations), "failures are knowledge too"


@pytest.mark.parametrize("evaluations", [24, 200])
def test_a_short_source_is_used_whole(recording: Recording, evaluations: int):
    prior = prior_from(recording, "local", np.random.default_rng(5), evaluations)
    assert prior.evaluations == recording.evaluations


def test_a_strategy_that_leaves_the_space_is_a_bug(monkeypatch: pytest.MonkeyPatch, recording: Recording):
    class Lost(Curious):
        def ask(self, n: int = 1) -> list[Configuration]:
            return [Configuration.of({"block": 33, "tile": 1, "padding": 0})]

    monkeypatch.setattr(registry, "load_strategy", lambda name: Lost)
    with pytest.raises(ValueError, match="block=33"):
        run_trial(recording, "lost", np.random.default_rng(0), evaluations=5)


def test_a_trial_stops_when_told_to(recording: Recording):
    answers = iter([False, False, True])
    with pytest.raises(ReplayStopped):
        run_trial(recording, "random", np.random.default_rng(0), evaluations=20, stopped=lambda: next(answers))
