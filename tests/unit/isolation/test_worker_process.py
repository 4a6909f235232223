"""Whatever a worker does, its owner gets a reason and goes on."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from misbehaving_worker import Affinity, Echo, Environment, Misbehave

from warpsmith.core.errors import UnavailableError
from warpsmith.isolation.process import WorkerDied, WorkerProcess, WorkerTimedOut

HERE = Path(__file__).parent


def start(may_start_processes: bool = True, **options) -> WorkerProcess:
    return WorkerProcess(
        "misbehaving_worker", may_start_processes=may_start_processes, environment={"PYTHONPATH": str(HERE)}, **options
    )


@pytest.fixture(scope="module")
def steady():
    with start() as worker:
        yield worker


def gone(pid: int, seconds: float = 60.0) -> bool:
    """Gone, or a zombie that its new parent has not collected yet."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_values_blobs_and_descriptors_arrive(steady, tmp_path):
    (tmp_path / "f").write_bytes(b"through a descriptor")
    with (tmp_path / "f").open("rb") as file:
        reply, blobs = steady.call(Echo((1, -(2**62), 3)), [b"", b"\0\xff" * 300_000], [file.fileno()], deadline_s=60)
    assert reply == (1, -(2**62), 3)
    assert blobs == (b"", b"\0\xff" * 300_000, b"through a descriptor")


def test_an_error_made_for_people_is_relayed_and_the_worker_lives(steady):
    with pytest.raises(UnavailableError) as caught:
        steady.call(Misbehave("unavailable"), deadline_s=60)
    assert str(caught.value) == "kernel.cu:3: no such device\nhint: install one"
    assert steady.call(Echo((5,)), deadline_s=60)[0] == (5,)


def test_what_a_worker_prints_is_not_ours(steady, capfd):
    steady.call(Misbehave("print"), deadline_s=60)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("segfault", "killed by SIGSEGV"),
        ("abort", "killed by SIGABRT"),
        ("exit", "exited with code 3"),
        ("raise", "exited with code 70: RuntimeError: the device said no"),
        ("last words", "killed by SIGABRT: assertion failed: n > 0"),
        ("garbage", "violated the protocol"),
        ("oversized", "violated the protocol"),
        ("half a frame", "exited with code 0"),
        ("wrong type", "violated the protocol"),
    ],
)
def test_death_has_a_reason(how, reason):
    with start() as worker:
        with pytest.raises(WorkerDied, match=reason) as caught:
            worker.call(Misbehave(how), deadline_s=60)
        assert "\n" not in caught.value.reason
        assert gone(worker.pid)
        with pytest.raises(WorkerDied, match="closed"):
            worker.call(Echo(()), deadline_s=60)


@pytest.mark.parametrize("how", ["hang", "sleep"])
def test_a_deadline_ends_the_worker(how):
    with start() as worker:
        with pytest.raises(WorkerTimedOut) as caught:
            worker.call(Misbehave(how), deadline_s=0.2)
        assert caught.value.limit_s == 0.2
        assert gone(worker.pid)


@pytest.mark.parametrize("by_addresses", [True, False])
def test_memory_is_limited(by_addresses):
    limited = start(memory_bytes=1 << 30, memory_by_addresses=by_addresses)
    with limited as worker, pytest.raises(WorkerDied, match=r"out of memory \(limit 1 GiB\)"):
        worker.call(Misbehave("allocate"), deadline_s=60)


def test_children_of_a_closed_worker_are_gone():
    with start() as worker:
        child, _ = worker.call(Misbehave("leave a child"), deadline_s=60)
        assert not gone(child, seconds=0.05)
    assert gone(child)


def test_children_of_a_crashed_worker_are_gone():
    with start() as worker, pytest.raises(WorkerDied) as caught:
        worker.call(Misbehave("leave a child and crash"), deadline_s=60)
    assert gone(int(caught.value.reason.rpartition(": ")[2]))


def test_the_environment_is_an_allow_list(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("OCL_LIMIT", "7")
    with start() as worker:
        seen, _ = worker.call(Environment(), deadline_s=60)
    assert "SOME_API_KEY" not in seen
    assert seen["OCL_LIMIT"] == "7"
    assert seen["PYTHONPATH"] == str(HERE)


def test_affinity():
    core = min(os.sched_getaffinity(0))
    with start(cores=frozenset({core})) as worker:
        assert worker.call(Affinity(), deadline_s=60)[0] == {core}


def test_a_module_that_does_not_exist():
    with (
        WorkerProcess("no_such_module_anywhere") as worker,
        pytest.raises(WorkerDied, match="No module named no_such_module_anywhere"),
    ):
        worker.call(Echo(()), deadline_s=60)


@pytest.mark.parametrize("busy", [True, False])
def test_kill_minus_nine_of_the_owner_leaves_no_orphan(busy):
    """The worker, spinning or idle, and its child die with the owner, but not with the thread of the owner that started it."""
    script = f"""
        import sys, threading, time
        sys.path.insert(0, {str(HERE)!r})
        from misbehaving_worker import Misbehave
        from warpsmith.isolation.process import WorkerProcess
        made = []
        def start():
            environment = {{"PYTHONPATH": {str(HERE)!r}}}
            made.append(WorkerProcess("misbehaving_worker", environment=environment, may_start_processes=True))
        thread = threading.Thread(target=start); thread.start(); thread.join()
        child, _ = made[0].call(Misbehave("leave a child"), deadline_s=60)
        print(made[0].pid, child, flush=True)
        if {busy}:
            made[0].call(Misbehave("hang"), deadline_s=1000)
        time.sleep(1000)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 2
    assert not any(gone(pid, seconds=0.05) for pid in pids)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert all(gone(pid) for pid in pids)
