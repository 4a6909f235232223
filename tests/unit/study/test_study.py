"""The search by ask and tell."""

import numpy as np
import pytest

from warpsmith import Study
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import LaunchFailed
from warpsmith.search.importance import Importance

VALUES = {"BLOCK": [32, 64, 128, 256, 512], "VEC": [1, 2, 4, 8], "UNROLL": [1, 2, 3, 4], "FAST": [False, True]}
ALLOWED = ["BLOCK * VEC <= 1024", "UNROLL == 1 or VEC > 1"]


def time_of(configuration) -> float:
    off = abs(np.log2(configuration["BLOCK"]) - 7) + abs(np.log2(configuration["VEC"]) - 2) + abs(configuration["UNROLL"] - 3)
    return float(2 ** (0.4 * off) * (1 if configuration["FAST"] else 1.3))


OPTIMUM = Configuration.of({"BLOCK": 128, "VEC": 4, "UNROLL": 3, "FAST": True})


def test_it_finds_the_best_and_says_what_mattered():
    study = Study(VALUES, ALLOWED, seed=3)
    best = study.minimize(time_of, evaluations=40)
    assert best == study.best
    assert best.configuration == OPTIMUM
    assert best.time == time_of(OPTIMUM)
    assert len(study.evaluations) == 40
    assert isinstance(study.importance(), Importance)


def test_several_at_once_come_back_in_any_order():
    study = Study(VALUES, ALLOWED, seed=0)
    asked = study.ask(5)
    assert len(set(asked)) == 5
    for configuration in reversed(asked):
        study.tell(dict(reversed(configuration.pairs)), time_of(configuration))
    assert study.best.time == min(map(time_of, asked))
    assert not set(study.ask(5)) & set(asked)


def test_the_same_seed_asks_the_same():
    def asked(seed):
        study = Study(VALUES, ALLOWED, seed=seed)
        study.minimize(time_of, 15)
        return [evaluation.configuration for evaluation in study.evaluations]

    assert asked(1) == asked(1) != asked(2)


def test_failures_are_results():
    def measure(configuration):
        if configuration["VEC"] > 2:
            raise RuntimeError("misaligned address")
        return time_of(configuration)

    study = Study(VALUES, ALLOWED, strategy="random", seed=0)
    best = study.minimize(measure, 30)
    assert best.configuration["VEC"] <= 2
    assert {e.outcome for e in study.evaluations if e.score is None} == {LaunchFailed("misaligned address")}
    only = Study({"N": [1, 2]})
    only.tell({"N": 1}, "no")
    assert only.best is None


def test_a_small_space_ends():
    study = Study({"N": [1, 2, 3]}, ["N != 2"])
    assert study.minimize(lambda c: float(c["N"]), 10).configuration == Configuration.of({"N": 1})
    assert len(study.evaluations) == 2
    assert study.ask() == []


def test_results_from_elsewhere_guide_it():
    known = [(configuration, 7 * time_of(configuration)) for configuration in Study(VALUES, ALLOWED).space]
    study = Study(VALUES, ALLOWED, known=known, seed=0)
    assert OPTIMUM in study.ask(3)
    assert study.evaluations == ()
    with pytest.raises(InputError, match="'random' cannot start from known results"):
        Study(VALUES, ALLOWED, known=known, strategy="random")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (({"BLOCK": 64}, 1.0), r"\(BLOCK=64\) is not in the space: its parameters are BLOCK, VEC"),
        (({"BLOCK": 256, "VEC": 8}, 1.0), r"BLOCK \* VEC <= 1024 does not hold with BLOCK=256, VEC=8"),
        (({"BLOCK": 60, "VEC": 1}, 1.0), "BLOCK=60"),
        (({"BLOCK": 64, "VEC": 1}, 0.0), "a time must be positive and finite, not 0.0"),
        (({"BLOCK": 64, "VEC": 1}, float("nan")), "a time must be positive and finite, not nan"),
        (({"BLOCK": 64, "VEC": 2}, 2.0), "was already told"),
    ],
)
def test_what_cannot_be_told_is_refused(told, said):
    study = Study({name: VALUES[name] for name in ("BLOCK", "VEC")}, ALLOWED[:1])
    study.tell({"BLOCK": 64, "VEC": 2}, 1.0)
    with pytest.raises(InputError, match=said):
        study.tell(*told)
    assert len(study.evaluations) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (({"N": []},), "N has no values"),
        (({"N": [1, 1]},), "N has a value twice"),
        (({"N": [1, 2]}, ["N > 2"]), "the constraints allow no configuration"),
        (({"N": [1, 2]}, ["M > 2"]), "M > 2 uses unknown names: M"),
        (({"N": [1, 2]}, ["__import__('os')"]), "expression"),
    ],
)
def test_what_is_no_space_is_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        Study(*arguments)


def test_the_default_is_where_it_begins():
    study = Study(VALUES, ALLOWED, default=OPTIMUM)
    assert study.ask() == [OPTIMUM]
    assert Study({"N": [1, 2, 3]}, ["N > 1"]).space.default == Configuration.of({"N": 2})
    with pytest.raises(InputError, match=r"the default configuration \(N=1\) is not allowed: N > 1 does not hold"):
        Study({"N": [1, 2, 3]}, ["N > 1"], default={"N": 1})
    with pytest.raises(InputError, match="the default has M, the parameters are N"):
        Study({"N": [1, 2, 3]}, default={"M": 1})
