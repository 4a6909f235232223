"""Jobs are processes of their own, known from disk: with stand-ins for `warpsmith tune` that do one thing each."""

from __future__ import annotations

import sys
import time

import pytest

from warpsmith.core.errors import InputError
from warpsmith.mcp.jobs import JobEntry, JobRegister

PYTHON = (sys.executable, "-c")
SLEEPS = "import sys, time\nprint('run       k-1', file=sys.stderr, flush=True)\ntime.sleep(60)"
HEEDS = f"import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit('stopped'))\n{SLEEPS}"


def started(register: JobRegister, program: str) -> JobEntry:
    entry = register.start("k/kernel.toml", [program], evaluations=3, seconds=None)
    deadline = time.monotonic() + 120
    while register.run_of(entry) is None and register.is_alive(entry) and time.monotonic() < deadline:
        time.sleep(0.01)
    return entry


def test_a_job_outlives_the_register_that_started_it_and_is_stopped_by_another(tmp_path) -> None:
    entry = started(JobRegister(tmp_path, PYTHON), HEEDS)
    later = JobRegister(tmp_path, PYTHON)
    assert later.all() == [entry]
    assert later.find(entry.job) == entry
    assert later.run_of(entry) == "k-1"
    assert later.is_alive(entry)
    with pytest.raises(InputError, match="two runs at once"):
        later.start("k/kernel.toml", ["pass"], evaluations=1, seconds=None)
    later.stop(entry)
    assert not later.is_alive(entry)
    assert "stopped" in later.log(entry)
    assert later.is_stopped(entry)


def test_one_that_does_not_heed_an_interrupt_is_killed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("warpsmith.mcp.jobs.STOPPING_S", 0.2)
    register = JobRegister(tmp_path, PYTHON)
    entry = started(register, f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEPS}")
    register.stop(entry)
    assert not register.is_alive(entry)


def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path) -> None:
    register = JobRegister(tmp_path, PYTHON)
    entry = started(register, SLEEPS)
    stranger = JobEntry(entry.job, entry.kernel, entry.command, entry.pid, "1", entry.started_at, 3, None)
    assert not register.is_alive(stranger)
    register.stop(stranger)
    assert register.is_alive(entry)
    register.stop(entry)


def test_a_job_that_ended_is_not_alive_and_leaves_its_last_words(tmp_path) -> None:
    register = JobRegister(tmp_path, PYTHON)
    entry = started(register, "import sys\nsys.exit('error: no such thing')")
    assert not register.is_alive(entry)
    assert register.run_of(entry) is None
    assert "no such thing" in register.log(entry)
    register.stop(entry)
    assert not register.is_stopped(entry), "it had ended by itself"
    register.start("k/kernel.toml", ["pass"], evaluations=1, seconds=None)  # and it is in nobody's way


@pytest.mark.parametrize("left", ["", '{"job": "job-0', "[]", '{"job": "job-000000", "started_at": "soon"}'])
def test_an_entry_that_is_not_whole_is_in_nobodys_way(tmp_path, left) -> None:
    register = JobRegister(tmp_path, PYTHON)
    (tmp_path / "job-000000").mkdir()
    (tmp_path / "job-000000" / "job.json").write_text(left)
    assert register.all() == []
    with pytest.raises(InputError, match="no job"):
        register.find("job-000000")
    entry = started(register, "pass")
    assert register.all() == [entry]


def test_a_job_that_never_started_is_not_alive(tmp_path, monkeypatch) -> None:
    register = JobRegister(tmp_path, ("/no/such/program",))
    with pytest.raises(FileNotFoundError):
        register.start("k/kernel.toml", [], evaluations=1, seconds=None)
    [entry] = register.all()
    assert not register.is_alive(entry)
    register.stop(entry)
    assert register.log(entry) == ""
