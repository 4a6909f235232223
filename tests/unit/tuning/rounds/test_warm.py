"""What a warm start may be given, what is refused and with which words, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import Crashed, Evaluation
from warpsmith.record.run import RunHeader
from warpsmith.record.source import Source
from warpsmith.record.store import Store
from warpsmith.testing.strategies import measured, small_space
from warpsmith.tuning.events import Event, SourceLearned, Warned
from warpsmith.tuning.rounds.warm import KEPT_AT_MOST, announce, check_sources, find_sources

HEADER = RunHeader("scale", "kernel.toml", "f", "cpu", "none", "gp", 0, {}, {})
WriteCache = Callable[..., Path]


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


def _run(store: Store, *scores: float | None) -> str:
    run = store.begin(HEADER)
    for number, score in enumerate(scores):
        outcome = Crashed("signal 11") if score is None else measured(score)
        store.append(run, Evaluation(Configuration.of({"BLOCK": number}), outcome))
    return run


def _source(**values: int) -> Source:
    return Source("earlier", "scale", "gpu", (Evaluation(Configuration.of(values), measured(1.0)),), 1)


def test_a_run_by_name_beginning_and_last(store: Store):
    run = _run(store, 1.0, None, 0.5)
    for name in (run, run[:-2], "last"):
        (source,) = find_sources([name], store)
        assert (source.name, source.kernel, source.device) == (run, "scale", "cpu")
        assert source.evaluations == tuple(store.evaluations(run))
        assert (source.summary.evaluations, source.summary.measured, source.found) == (3, 2, 3)
    assert len(find_sources([run, "last"], store)) == 1, "the same one twice is one"
    assert find_sources([], store) == ()


def test_a_kernel_tuner_cache(store: Store, write_cache: WriteCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache = write_cache("cache.json", result=lambda block, tile, padding: "RuntimeFailedConfig" if tile == 3 else float(block))
    monkeypatch.chdir(tmp_path)
    for name in (str(cache), cache, "cache.json"):
        (source,) = find_sources([name], store)
        assert (source.name, source.kernel, source.device) == (str(cache), "some_kernel", "Some GPU")
        assert (source.summary.evaluations, source.summary.measured) == (24, 16)
    cache.rename(tmp_path / "last")
    run = _run(store, 1.0)
    assert [source.name for source in find_sources(["last", "./last"], store)] == [run, str(tmp_path / "last")]


def test_of_a_large_recording_the_best_and_an_even_choice_of_the_rest_are_kept(store: Store, write_cache: WriteCache):
    cache = write_cache(
        parameters={"a": list(range(1, 101)), "b": list(range(1, 101))},
        result=lambda a, b: "RuntimeFailedConfig" if b > 90 else float(100 * a + b),
    )
    (source,) = find_sources([cache], store)
    assert len(source.evaluations) == KEPT_AT_MOST
    assert source.found == 10_000
    kept = {e.configuration for e in source.evaluations}
    assert len(kept) == KEPT_AT_MOST, "each once"
    by_time = sorted((100 * a + b, a, b) for a in range(1, 101) for b in range(1, 91))
    assert all(Configuration.of({"a": a, "b": b}) in kept for _, a, b in by_time[: KEPT_AT_MOST // 2])
    failures = KEPT_AT_MOST - source.summary.measured
    assert failures == pytest.approx(1000 / 9000 * KEPT_AT_MOST / 2, abs=2), "as many as their share among the rest"
    assert find_sources([cache], store) == (source,)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", ("no run 'nothing'", "no such file", "Kernel Tuner cache")),
        ("missing.json", ("missing.json", "cannot be read")),
        ("scale-", ("ambiguous",)),
    ],
)
def test_what_is_not_there_is_named(store: Store, name: str, words: tuple[str, ...]):
    _run(store, 1.0), _run(store, 1.0)
    with pytest.raises(InputError) as caught:
        find_sources([name], store)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("scores", [(), (None, None)], ids=["empty", "all failed"])
def test_a_run_that_measured_nothing_is_refused(store: Store, scores: tuple[None, ...]):
    run = _run(store, *scores)
    with pytest.raises(InputError, match=rf"{run} has no measured configuration \({len(scores)} evaluations\)"):
        find_sources([run], store)


def test_a_strategy_that_cannot_learn_is_refused():
    with pytest.raises(InputError, match="'random' cannot start from an earlier run") as caught:
        check_sources("random", small_space(), [_source(BLOCK=32)])
    assert "--strategy gp" in str(caught.value.hint)
    check_sources("random", small_space(), [])
    check_sources("gp", small_space(), [_source(BLOCK=32)])


def test_a_source_without_a_common_parameter_is_refused_with_both_sets():
    with pytest.raises(InputError, match="TILE, UNROLL against BLOCK, LAYOUT, VEC"):
        check_sources("gp", small_space(), [_source(BLOCK=32), _source(UNROLL=1, TILE=2)])


def test_another_kernel_is_worth_a_warning():
    events: list[Event] = []
    source = _source(BLOCK=32)
    announce([source], "scale", events.append)
    assert events == [SourceLearned(source.summary)]
    announce([source], "softmax", events.append)
    assert isinstance(events[-1], Warned)
    assert "'scale'" in events[-1].message
    assert "'softmax'" in events[-1].message
