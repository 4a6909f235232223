"""Optuna's samplers behind our protocol: skipped without Optuna, but that its absence is explained is always tested."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.search.registry import load_strategy
from warpsmith.testing.strategies import StrategyConformance, large_space, measured, small_space

installed = all(find_spec(name) is not None for name in ("optuna", "cmaes"))
needs_optuna = pytest.mark.skipif(not installed, reason="pip install 'warpsmith[optuna]'")
NAMES = ("optuna-tpe", "optuna-cmaes", "optuna-random")


class OptunaConformance(StrategyConformance):
    name = ""

    def make(self, space, rng):
        return load_strategy(self.name)(space, rng)


@needs_optuna
class TestTpe(OptunaConformance):
    name = "optuna-tpe"


@needs_optuna
class TestCmaEs(OptunaConformance):
    name = "optuna-cmaes"


@needs_optuna
class TestRandom(OptunaConformance):
    name = "optuna-random"


@needs_optuna
@pytest.mark.parametrize("name", NAMES)
def test_optuna_knows_exactly_what_was_evaluated(name):
    """Constraints move most suggestions here: the study's completed trials are the evaluations, and nothing else."""
    import optuna

    space = large_space()
    strategy = load_strategy(name)(space, np.random.default_rng(0))
    told = {}
    for step in range(60):
        (configuration,) = strategy.ask()
        score = 1.0 + float(space.encode(configuration).sum())
        failed = step % 7 == 3
        strategy.tell(Evaluation(configuration, CompileFailed("no") if failed else measured(score)))
        told[tuple(int(at) for at in space.encode(configuration))] = float("inf") if failed else score
    trials = strategy._study.get_trials(deepcopy=False)
    complete = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    assert {tuple(trial.params[p.name] for p in space.parameters): trial.value for trial in complete} == told
    assert len(complete) == len(told)
    assert all(trial.state.is_finished() for trial in trials), "a trial was left running"


@needs_optuna
def test_cma_es_goes_through_its_generations_although_points_are_moved():
    space = large_space()
    strategy = load_strategy("optuna-cmaes")(space, np.random.default_rng(0))
    for _ in range(60):
        (configuration,) = strategy.ask()
        strategy.tell(Evaluation(configuration, measured(1.0 + float(space.encode(configuration).sum()))))
    attributes = [trial.system_attrs for trial in strategy._study.get_trials(deepcopy=False)]
    assert max(each.get("cma:generation", 0) for each in attributes) >= 3


@needs_optuna
def test_nothing_is_printed(capfd):
    strategy = load_strategy("optuna-cmaes")(small_space(), np.random.default_rng(0))
    for configuration in strategy.ask(5):
        strategy.tell(Evaluation(configuration, measured(1.0)))
    strategy.ask(5)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("missing", ["optuna", "cmaes"])
def test_without_the_package_the_hint_says_what_to_install(monkeypatch, missing):
    monkeypatch.delitem(sys.modules, "warpsmith.search.optuna_samplers", raising=False)
    for name in ("optuna", "cmaes"):
        if not installed or name == missing:
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnavailableError) as caught:
        importlib.import_module("warpsmith.search.optuna_samplers")
    assert caught.value.hint == "pip install 'warpsmith[optuna]'"
    assert caught.value.exit_code == 3
