"""A whole replay in worker processes: repeatable whatever the number of workers, and refusing what cannot be."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.core.errors import InputError
from warpsmith.replay import ReplayResult, replay
from warpsmith.replay import run as run_module
from warpsmith.search.registry import DEFAULT_STRATEGY

WriteCache = Callable[..., Path]


def course(result: ReplayResult) -> list[Any]:
    """All that must not depend on anything but the arguments."""
    return [(cell.space, cell.strategy, cell.evaluated) for cell in result.cells]


def test_the_same_whatever_the_number_of_workers(write_cache: WriteCache):
    spaces = [write_cache("a.json"), write_cache("b.json", result=lambda block, tile, padding: float(tile))]
    seen: list[tuple[int, int]] = []
    options: dict[str, Any] = {"strategies": ["random", "local"], "evaluations": 12, "seeds": 3}
    alone = replay(spaces, **options, jobs=1, progress=lambda done, of, _trial: seen.append((done, of)))
    together = replay(spaces, **options, jobs=3)
    assert course(alone) == course(together)
    assert seen == [(n, 12) for n in range(1, 13)]
    assert len({numbers for cell in alone.cells for numbers in cell.evaluated}) > 6, "seeds and strategies differ"
    assert not multiprocessing.active_children()


def test_the_environment_is_left_as_it_was(write_cache: WriteCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    replay([write_cache()], strategies=["random"], evaluations=2, seeds=1, jobs=1)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_leaving_early_ends_the_workers(write_cache: WriteCache):
    def interrupt(done: int, of: int, trial: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay([write_cache()], strategies=["random"], evaluations=24, seeds=50, jobs=2, progress=interrupt)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategies": ["magic"]}, "local"),
        ({"evaluations": 0}, "--evaluations must be at least 1, not 0"),
        ({"seeds": 0}, "--seeds must be at least 1, not 0"),
        ({"jobs": 0}, "--jobs must be at least 1, not 0"),
        ({"warm_evaluations": -1}, "--warm-evaluations must be at least 1, not -1"),
    ],
)
def test_mistakes_are_answered_before_anything_runs(
    write_cache: WriteCache, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
):
    monkeypatch.setattr(run_module, "run_trials", lambda *_: pytest.fail("nothing may run"))
    with pytest.raises(InputError, match=words):
        replay([write_cache()], **options)


def test_a_strategy_that_cannot_learn_is_not_started_warm(write_cache: WriteCache):
    with pytest.raises(InputError, match="'random' cannot start from an earlier record"):
        replay([write_cache("a.json")], strategies=["random"], warm=write_cache("b.json"))


def test_a_source_of_another_kernel_is_refused(write_cache: WriteCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module, "_check_strategies", lambda plan, example: None)
    other = write_cache("other.json", parameters={"unroll": [1, 2]}, result=lambda unroll: 1.0)
    with pytest.raises(InputError) as caught:
        replay([write_cache("a.json")], strategies=["random"], warm=other)
    assert "unroll against block, padding, tile" in str(caught.value)
    assert "hint: a warm start needs" in str(caught.value)


def test_a_warm_start_is_repeatable_and_another_course_than_a_cold_one(write_cache: WriteCache):
    target, source = write_cache("a.json"), write_cache("b.json", result=lambda block, tile, padding: 10.0 * block + tile)
    options: dict[str, Any] = {"strategies": [DEFAULT_STRATEGY], "evaluations": 10, "seeds": 2}
    warm = replay([target], **options, warm=source, warm_evaluations=15, jobs=1)
    assert course(warm) == course(replay([target], **options, warm=source, warm_evaluations=15, jobs=2))
    assert course(warm) != course(replay([target], **options, jobs=2))
    assert warm.as_dict()["warm"] == {"source": "b", "evaluations": 15}


def test_a_source_may_have_other_parameters_and_values_besides(write_cache: WriteCache):
    parameters = {"unroll": [1, 2], "block": [64, 512], "tile": [1, 2, 3]}
    source = write_cache("b.json", parameters=parameters, result=lambda unroll, block, tile: float(unroll * block * tile))
    result = replay([write_cache("a.json")], strategies=[DEFAULT_STRATEGY], evaluations=30, seeds=1, jobs=1, warm=source)
    assert len(set(result.cells[0].evaluated[0])) == 24, "the whole target, and nothing of the source"
