"""Which of several equally fast configurations is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.tuning.claims.simplicity import complexity, equals, settled

DEFAULT = Configuration.of({"BLOCK": 128, "EXP": 0, "LAYOUT": "row"})


def changed(**values: int | str) -> Configuration:
    return Configuration.of({**DEFAULT, **values})


def test_fewer_changes_are_simpler_and_smaller_ones():
    ordered = [DEFAULT, changed(EXP=3), changed(BLOCK=1024), changed(BLOCK=4096), changed(BLOCK=256, LAYOUT="column")]
    shuffled = [ordered[at] for at in (3, 1, 4, 0, 2)]
    assert sorted(shuffled, key=lambda c: complexity(c, DEFAULT)) == ordered


@pytest.mark.parametrize(
    ("simple", "noise", "chosen"),
    [
        (0.004, 0.02, "simple"),  # lost in the noise
        (0.004, 0.0, "best"),  # small, but certain
        (0.05, 0.05, "best"),  # more than anybody gives up for that
    ],
)
def test_the_simplest_that_measurements_cannot_tell_from_the_best(simple: float, noise: float, chosen: str):
    rng = np.random.default_rng(1)
    named = {"best": changed(BLOCK=4096, EXP=3), "simple": changed(EXP=3)}
    level = {named["best"]: -0.3, named["simple"]: -0.3 + simple, DEFAULT: 0.0}
    logs = {w: {c: at + rng.normal(0, noise, 30) * (c != DEFAULT) for c, at in level.items()} for w in ("a", "b")}
    found = settled(equals(named["best"], list(level), logs, {"a": 1.0, "b": 3.0}), DEFAULT)
    assert found == named[chosen]


def test_near_ties_are_settled_alike_whoever_was_fastest():
    one, other = changed(BLOCK=64), changed(BLOCK=256)  # as simple as each other
    weights = {"a": 1.0}
    for ahead in (-0.001, 0.001):
        noise = np.random.default_rng(2).normal(0, 0.02, 30)
        logs = {"a": {one: -0.3 + noise, other: -0.3 + ahead - noise}}
        fastest = min((one, other), key=lambda c: float(np.median(logs["a"][c])))
        for listed in ([one, other], [other, one]):
            assert settled(equals(fastest, listed, logs, weights), DEFAULT) == other
