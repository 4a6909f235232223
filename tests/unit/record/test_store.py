"""Nothing recorded is lost: round trips, durability against kill -9, versions, locks."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
    Crashed,
    Evaluation,
    Infeasible,
    LaunchFailed,
    Measured,
    TimedOut,
    Verdict,
    WorkloadTime,
    WrongResult,
)
from warpsmith.record.source import Source, SourceSummary
from warpsmith.record.store import RoundRecord, RunHeader, Store, run_lock

HEADER = RunHeader("k", "k/kernel.toml", "f", "cpu", "none", "local", 3, {"evaluations": 5}, {"limits": {}})
GOOD = Verdict((ArgumentCheck("w", "out", True, 1e-7, (0, 3), "1", "1"),))
BAD = Verdict((ArgumentCheck("w", "out", False, float("inf"), (2,), "nan", "1", "NaN where 1 was expected"),))

OUTCOMES = [
    Measured(GOOD, (WorkloadTime("w", 12.5, 0.5, (0.0, float("inf")), 3),), 0.5, Resources(vector_width=8, remarks=("a", "b"))),
    Infeasible("BLOCK=2048 > 1024"),
    CompileFailed("no such name", "log"),
    LaunchFailed("refused"),
    WrongResult(BAD),
    Crashed("killed by SIGSEGV"),
    TimedOut("no answer", 2.0),
]


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda o: type(o).__name__)
def test_every_outcome_comes_back_as_it_was(store: Store, outcome):
    run = store.begin(HEADER)
    evaluation = Evaluation(Configuration.of({"B": 2, "A": "x", "C": True, "D": 0.5}), outcome, 1.5, 99.0)
    store.append(run, evaluation)
    assert store.evaluations(run) == [evaluation]
    assert store.outcome_counts(run) == {type(outcome).__name__: 1}


def test_a_configuration_is_recorded_once(store: Store):
    run = store.begin(HEADER)
    store.append(run, Evaluation(Configuration.of({"A": 1, "B": 2}), Crashed("x")))
    with pytest.raises(sqlite3.IntegrityError):
        store.append(run, Evaluation(Configuration.of({"B": 2, "A": 1}), Crashed("x")))


def test_runs_are_found_by_name_beginning_and_last(store: Store):
    first, second = store.begin(HEADER), store.begin(HEADER)
    assert store.find(first).run == first
    assert store.find("last").run in {first, second}
    with pytest.raises(InputError, match="ambiguous"):
        store.find("k-")
    with pytest.raises(InputError, match="no run 'other'"):
        store.find("other")


def test_result_and_status_round_trip(store: Store):
    run = store.begin(HEADER)
    assert store.find(run).status == "running"
    store.finish(run, "finished", {"general": {"speedup": 2.0}})
    record = store.find(run)
    assert record.status == "finished"
    assert record.result == {"general": {"speedup": 2.0}}
    assert record.header == HEADER


def test_what_was_reported_survives_kill_9(tmp_path: Path):
    """A real process appends and reports each number after the append; it is killed at a random moment."""
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from test_store import HEADER
        from warpsmith.core.configuration import Configuration
        from warpsmith.core.outcome import Crashed, Evaluation
        from warpsmith.record.store import RoundRecord, Store
        store = Store(Path(sys.argv[1]))
        run = store.begin(HEADER)
        for i in range(100000):
            store.append(run, Evaluation(Configuration.of({"A": i}), Crashed("x")))
            print(i, flush=True)
    """)
    path = tmp_path / "runs.sqlite"
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    reported = -1
    for line in child.stdout:
        reported = int(line)
        if reported >= 37:
            os.kill(child.pid, signal.SIGKILL)
            break
    rest = child.stdout.read().split()
    child.wait()
    child.stdout.close()
    reported = int(rest[-1]) if rest else reported
    with Store(path) as store:
        evaluations = store.evaluations(store.find("last").run)
    numbers = [e.configuration["A"] for e in evaluations]
    assert numbers == list(range(len(numbers)))
    assert reported + 1 <= len(numbers) <= reported + 2  # at most the one under way beyond what was reported


def test_a_newer_schema_is_refused(tmp_path: Path):
    path = tmp_path / "runs.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="schema version 99"):
        Store(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path):
    path = tmp_path / "runs.sqlite"
    path.write_text("not a database, but long enough to look like a file of one" * 100)
    with pytest.raises(InputError, match="cannot be used"):
        Store(path)
    assert path.read_text().startswith("not a database")


def test_a_run_has_one_worker_at_a_time(tmp_path: Path):
    with run_lock(tmp_path / "run"), pytest.raises(InputError, match="another process"), run_lock(tmp_path / "run"):
        pass


def _sources() -> tuple[Source, ...]:
    evaluations = tuple(Evaluation(Configuration.of({"A": n, "B": 0.1}), o, 0.5, 7.0) for n, o in enumerate(OUTCOMES))
    return (Source("an-earlier-run", "k", "gpu", evaluations, 7), Source("cache.json", "other", "A100", evaluations[:1], 5000))


def test_what_a_run_started_from_comes_back_as_it_was(store: Store):
    cold = store.begin(HEADER)
    warm = store.begin(HEADER, _sources())
    assert store.sources(warm) == _sources()
    assert store.sources(cold) == ()
    assert store.source_summaries(cold) == []
    assert store.source_summaries(warm) == [source.summary for source in _sources()]
    assert store.source_summaries(warm) == [
        SourceSummary("an-earlier-run", "k", "gpu", 7, 1, 7),
        SourceSummary("cache.json", "other", "A100", 1, 1, 5000),
    ]
    assert store.evaluations(warm) == [], "they are not the run's own"


def test_a_run_is_there_with_all_its_sources_or_not_at_all(store: Store):
    broken = Source("broken", "k", "gpu", (Evaluation(Configuration.of({"A": 1}), Crashed("x"), seconds="soon"),), 1)  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        store.begin(HEADER, (*_sources(), broken))
    assert store.runs() == []
    run = store.begin(HEADER, _sources())
    assert store.sources(run) == _sources()


ROUND = RoundRecord(
    1,
    {
        "passes": ["lift_constants"],
        "reason": "why",
        "findings": [{"concern": "balance", "text": "t", "weight": 1.0}],
        "is_last": True,
    },
    "round-1/kernel.toml",
    "f",
    {"applied": ["lift_constants"], "declined": {"map_2d": "no index"}},
)


def test_rounds_come_back_with_their_own_evaluations(store: Store):
    run, other = store.begin(HEADER), store.begin(HEADER)
    store.begin_round(run, ROUND)
    store.begin_round(run, replace(ROUND, number=2))
    evaluations = [Evaluation(Configuration.of({"A": n}), OUTCOMES[0], 0.5, 7.0) for n in range(3)]
    for evaluation, number in zip(evaluations, (1, 1, 2), strict=True):
        store.append(run, evaluation, number)
    assert store.rounds(run) == [ROUND, replace(ROUND, number=2)]
    assert store.rounds(other) == []
    assert [store.evaluations(run, number) for number in (1, 2, 3)] == [evaluations[:2], evaluations[2:], []]
    assert store.evaluations(run) == evaluations
    with pytest.raises(sqlite3.IntegrityError):
        store.begin_round(run, ROUND)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_records_of_every_earlier_version_are_read(version: int, tmp_path: Path):
    path = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "data" / f"version_{version}.sql").read_text())
    connection.close()
    with Store(path) as store:
        run = store.find("last")
        assert run.run == f"k-version-{version}"
        assert run.header == HEADER
        assert [evaluation.outcome for evaluation in store.evaluations(run.run)] == OUTCOMES
        assert [evaluation.outcome for evaluation in store.evaluations(run.run, 1)] == OUTCOMES, "all of the first round"
        assert store.sources(run.run) == (_sources() if version >= 2 else ())
        assert store.rounds(run.run) == ([ROUND] if version >= 3 else [])
        assert store.sources(store.begin(HEADER, _sources())) == _sources(), "and go on as this version does"
