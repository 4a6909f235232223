"""Nothing recorded is lost: round trips, durability against kill -9, versions, locks."""

from __future__ import annotations

import ctypes
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
from warpsmith.core.errors import InputError, UnavailableError, WarpsmithError
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
from warpsmith.record.faults import record_fault
from warpsmith.record.lock import as_seen, run_lock
from warpsmith.record.run import RoundRecord, RunHeader, Status
from warpsmith.record.schema import open_database
from warpsmith.record.source import Source, SourceSummary
from warpsmith.record.store import Store
from warpsmith.tuning.order import order_of
from warpsmith.tuning.result import shown_result

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


def test_a_folder_of_a_kernel_that_is_taken_for_a_run_is_told_apart(store: Store, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kernel.toml").touch()
    with pytest.raises(InputError) as error:
        store.find("mine")
    assert "`warpsmith verify mine/`" in (error.value.hint or "")


def test_a_record_without_runs_says_how_to_make_one(store: Store):
    with pytest.raises(InputError) as error:
        store.find("last")
    assert error.value.hint == "there are no runs yet: `warpsmith tune KERNEL` makes one"


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
    store.finish(run, Status.FINISHED, {"general": {"speedup": 2.0}}, seconds=1.5)
    record = store.find(run)
    assert record.status is Status.FINISHED
    assert record.seconds == 1.5
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
        from warpsmith.record.store import Store
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


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A record with one run, closed."""
    path = tmp_path / "home" / "runs.sqlite"
    with Store(path) as store:
        store.begin(HEADER)
    return path


def _without_privileges() -> None:
    """Root may write everywhere; what it starts after this may not."""
    libc = ctypes.CDLL(None)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)


@pytest.mark.parametrize("left_open", [False, True], ids=["closed", "killed"])
def test_a_record_that_cannot_be_written_is_read_and_says_so_when_written(whole: Path, left_open: bool):
    if left_open:  # what a killed process left in the log beside the file is part of the record
        writing = "import os, sys; sys.path.insert(0, sys.argv[2]); from test_store import *\n"
        writing += "store = Store(Path(sys.argv[1])); store.begin(HEADER); os._exit(0)"
        subprocess.run([sys.executable, "-c", writing, str(whole), str(Path(__file__).parent)], check=True)
    looking = "import sys; sys.path.insert(0, sys.argv[2]); from test_store import *\n"
    looking += "print(len(Store(Path(sys.argv[1]), reading=True).runs()))\n"
    looking += "try:\n  Store(Path(sys.argv[1]))\nexcept UnavailableError as error: print(error.message)"
    whole.parent.chmod(0o555)
    for file in whole.parent.iterdir():
        file.chmod(0o444)
    command = [sys.executable, "-c", looking, str(whole), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=_without_privileges)
    whole.parent.chmod(0o755)
    assert done.stdout.splitlines()[0] == ("2" if left_open else "1")
    assert "permission denied" in done.stdout.splitlines()[1]


@pytest.mark.parametrize("version", [1, 7])
def test_an_old_record_that_cannot_be_written_is_read(version: int, tmp_path: Path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "data" / f"version_{version}.sql").read_text())
    connection.close()
    before = path.read_bytes()
    monkeypatch.setattr("warpsmith.record.schema._writable", _refuses)
    with Store(path, reading=True) as store:
        assert store.find("last").run == f"k-version-{version}"
    assert path.read_bytes() == before


def _refuses(_: Path) -> sqlite3.Connection:
    raise PermissionError(13, "Permission denied")


def test_reading_makes_nothing(tmp_path: Path):
    with Store(tmp_path / "none" / "runs.sqlite", reading=True) as store:
        assert store.runs() == []
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError) as told:
        Store(tmp_path / "file" / "home" / "runs.sqlite")
    assert str(tmp_path / "file") in str(told.value)


def test_only_what_is_no_record_or_a_damaged_one_is_to_be_moved_away(whole: Path):
    connection = open_database(whole)
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("UPDATE runs SET settings = ?", ("x" * 100_000,))
    with pytest.raises(sqlite3.OperationalError) as read_only:
        sqlite3.connect(f"{whole.as_uri()}?mode=ro", uri=True).execute("DELETE FROM runs")
    connection.close()
    damaged = _damaged(whole)
    told: dict[str, WarpsmithError] = {
        name: record_fault(error, whole)
        for name, error in {"full": full.value, "read-only": read_only.value, "damaged": damaged}.items()
    }
    assert {name: error.exit_code for name, error in told.items()} == {"full": 3, "read-only": 3, "damaged": 3}
    assert {name for name, error in told.items() if "move the file away" in str(error.hint)} == {"damaged"}
    assert "the disk is full" in told["full"].message
    assert all(str(whole) in str(error) for error in told.values())


def _damaged(path: Path) -> sqlite3.Error:
    """What reading says of a record whose inner pages hold something else."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises((sqlite3.DatabaseError, UnavailableError)) as told, Store(path) as store:
        store.runs()
    cause = told.value.__cause__ or told.value  # where the first page does not hold all of the schema, opening it fails
    assert isinstance(cause, sqlite3.DatabaseError)
    return cause


def test_a_damaged_row_costs_one_run(store: Store):
    whole, damaged, odd = (store.begin(HEADER) for _ in range(3))
    store.append(whole, Evaluation(Configuration.of({"A": 1}), Crashed("x")))
    for run, result in ((damaged, "{"), (odd, "[]")):
        store._connection.execute("UPDATE runs SET result = ? WHERE run = ?", (result, run))
    found = {record.run: record.status for record in store.runs()}
    assert found == {whole: Status.RUNNING, damaged: Status.UNREADABLE, odd: Status.UNREADABLE}
    assert store.find("last").run == whole
    with pytest.raises(UnavailableError, match="is damaged"):
        store.find(damaged)
    store._connection.execute("UPDATE evaluations SET outcome = '{' WHERE run = ?", (whole,))
    with pytest.raises(UnavailableError, match="evaluation 0 of run"):
        store.evaluations(whole)


@pytest.mark.parametrize(
    "column", ["run", "kernel", "kernel_path", "device", "seed", "created_at", "settings", "status", "result"]
)
@pytest.mark.parametrize("damage", ["a bad byte", "nothing", "another type"])
def test_damage_in_any_column_costs_one_run(whole: Path, column: str, damage: str):
    """Written past SQLite's checks, as a disk would."""
    with Store(whole) as store:
        good, bad = store.runs()[0].run, store.begin(HEADER, run="damaged-20260101")
        store.append(bad, Evaluation(Configuration.of({"A": 1}), Crashed("x")))
        store.finish(bad, Status.FINISHED, {"general": None})
        store._connection.execute("PRAGMA writable_schema = ON")
        store._connection.execute("UPDATE sqlite_master SET sql = replace(replace(sql, ' STRICT', ''), 'NOT NULL', '')")
    value = {"a bad byte": b"dam\xffged", "nothing": b"", "another type": None}[damage]
    connection = sqlite3.connect(whole)
    what = "NULL" if value is None else f"CAST(x'{value.hex()}' AS TEXT)"
    connection.execute(f"UPDATE runs SET {column} = {what} WHERE run = '{bad}'")
    connection.commit()
    connection.close()
    with Store(whole, reading=True) as store:
        found = store.runs()
        assert len(found) == 2
        other = next(record for record in found if record.run != good)
        harmless = (column, damage) == ("result", "another type") or (
            damage == "nothing" and column in {"kernel", "kernel_path", "device", "run"}
        )
        assert other.status is (Status.FINISHED if harmless else Status.UNREADABLE)
        other.run.encode()
        assert store.find("last").run == (other.run if harmless else good)
        assert store.find(good).header == HEADER


@pytest.mark.parametrize("outcome", ["", "{}", "[]", "[" * 5000, '{"reason": 3}', "dam\udcffged"])
def test_a_damaged_evaluation_costs_its_run(store: Store, outcome: str):
    good, bad = store.begin(HEADER), store.begin(HEADER)
    for run in (good, bad):
        store.append(run, Evaluation(Configuration.of({"A": 1}), Crashed("x")))
    data = outcome.encode(errors="surrogateescape")
    store._connection.execute(f"UPDATE evaluations SET outcome = CAST(x'{data.hex()}' AS TEXT) WHERE run = ?", (bad,))
    with pytest.raises(UnavailableError, match=f"evaluation 0 of run {bad} is damaged"):
        store.evaluations(bad)
    assert len(store.evaluations(good)) == 1
    assert len(store.runs()) == 2


@pytest.mark.parametrize(("field", "empty"), [("plan", ""), ("plan", "{}"), ("plan", "[]"), ("report", "")])
def test_a_damaged_round_costs_its_run(store: Store, field: str, empty: str):
    run = store.begin(HEADER)
    store.begin_round(run, ROUND)
    store._connection.execute(f"UPDATE rounds SET {field} = ?", (empty,))
    with pytest.raises(UnavailableError, match=f"round 1 of run {run} is damaged"):
        store.rounds(run)


def test_a_result_that_lacks_what_every_result_has_is_damaged(store: Store):
    run = store.begin(HEADER)
    store.finish(run, Status.FINISHED, {"general": None})
    with pytest.raises(UnavailableError, match="it has no run, status, kernel"):
        shown_result(store.find(run), store)
    claim = {"config": {}, "median_us": 1.0, "speedup": 2.0, "ci95": [1.0, 3.0]}
    for general in ({}, [], claim, {**claim, "verified": None}):
        store.finish(run, Status.FINISHED, {"run": run, "general": general, "per_workload": {}, "heldout": {}, "evaluations": {}})
        assert [record.status for record in store.runs()] == [Status.UNREADABLE]


def test_settings_without_a_budget_do_not_mean_one_without_end(store: Store):
    run = store.begin(replace(HEADER, settings={}))
    with pytest.raises(UnavailableError, match="they have no evaluations, seconds"):
        order_of(store.find(run), store)


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("left", [0, 1, 50, 100, 4096])
def test_a_record_that_was_cut_off_is_told_and_left_alone(whole: Path, left: int, reading: bool):
    data = whole.read_bytes()[:left]
    whole.write_bytes(data)
    log = whole.with_name("runs.sqlite-wal")
    log.write_bytes(b"what was not in the file yet")
    with pytest.raises((InputError, UnavailableError, sqlite3.DatabaseError)) as told, Store(whole, reading=reading) as store:
        store.runs()
    error = told.value if isinstance(told.value, WarpsmithError) else record_fault(told.value, whole)
    assert str(whole) in str(error)
    assert "move the file away" in str(error.hint)
    assert whole.read_bytes() == data
    if left == 0:
        assert "the file was truncated" in error.message
        assert log.read_bytes() == b"what was not in the file yet"


@pytest.mark.parametrize("version", [0, 3, 5])
def test_a_database_of_another_program_is_told_and_left_alone(tmp_path: Path, version: int):
    path = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        f"CREATE TABLE runs_of_mine (a); INSERT INTO runs_of_mine VALUES (1); PRAGMA user_version = {version}"
    )
    connection.close()
    for reading in (False, True):
        with pytest.raises(InputError, match="a database, but not a record of runs"):
            Store(path, reading=reading)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("runs_of_mine",)]
    connection.close()


def test_a_record_has_its_tables_as_soon_as_it_can_be_seen(tmp_path: Path):
    """Whatever ends the process that makes it: an empty file is one that was cut off."""
    opening = "import sys; from pathlib import Path; from warpsmith.record.store import Store; Store(Path(sys.argv[1])).close()"
    together = [subprocess.Popen([sys.executable, "-c", opening, str(tmp_path / "runs.sqlite")]) for _ in range(4)]
    assert [process.wait() for process in together] == [0] * 4
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.runs() == []
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]


def test_the_last_run_is_one_that_there_is_something_to_say_of(store: Store):
    failed = [store.begin(HEADER) for _ in range(2)]
    for run in failed:
        store.finish(run, Status.FAILED, error={"message": "why"})
    assert store.find("last").run in failed
    assert store.find("last").error == {"message": "why"}
    good = store.begin(HEADER)
    store._connection.execute("UPDATE runs SET created_at = 1.0 WHERE run = ?", (good,))
    assert store.find("last").run == good
    store.append(failed[0], Evaluation(Configuration.of({"A": 1}), Crashed("x")))
    assert store.find("last").run == failed[0]


def test_a_run_whose_process_is_gone_is_seen_as_killed(store: Store, tmp_path: Path):
    record = store.find(store.begin(HEADER))
    folder = tmp_path / record.run
    with run_lock(folder):
        assert as_seen(record, folder).status is Status.RUNNING
    assert as_seen(record, folder).status is Status.KILLED
    assert as_seen(record, tmp_path / "never").status is Status.KILLED
    stopped = replace(record, status=Status.INTERRUPTED)
    assert as_seen(stopped, folder) == stopped


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


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
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
        assert len(store.messages(run.run)) == len(store.adversaries(run.run)) == (version >= 4)
        assert store.input_seeds(run.run) == ([4711] if version >= 6 else [])
        assert store.sources(store.begin(HEADER, _sources())) == _sources(), "and go on as this version does"
