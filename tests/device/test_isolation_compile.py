"""The compile pool with the real device: sharing, caching, pausing, and compilers that die, hang or eat memory."""

import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench_support import UNARY, killed_at_work, make_kernel, request

from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import CompileFailed, Crashed, TimedOut
from warpsmith.devices.base import Binary

KERNEL = make_kernel(*UNARY)
SOURCE = "__global__ void k(const float* x, float* out, int n) { out[threadIdx.x] = x[0] + VALUE; }\n"
# Instantiates 2^40 templates: clang neither ends nor gives up.
ENDLESS = """
    template <int N, long K> struct F { static constexpr long v = F<N - 1, 2 * K>::v + F<N - 1, 2 * K + 1>::v; };
    template <long K> struct F<0, K> { static constexpr long v = K; };
    __global__ void k(const float* x, float* out, int n) { out[0] = F<40, 0>::v; }
"""
# 268 million tokens, some gibibytes of them.
GREEDY = (
    "#define D0 +1\n"
    + "".join(f"#define D{i + 1} D{i} D{i} D{i} D{i}\n" for i in range(14))
    + "__global__ void k(const float* x, float* out, int n) { out[0] = 0 D14; }\n"
)


def ask(value: object = 1, source: str = SOURCE, **changes):
    return replace(request(KERNEL, source, KERNEL.workloads[0]), defines={"VALUE": value}, **changes)


@pytest.fixture(scope="module")
def pool():
    with CompilePool("cpu", cache_dir=None, deadline_s=60, folders=[Path()]) as pool:
        yield pool


def jobs_done(pool: CompilePool) -> int:
    return sum(slot._jobs_done for slot in pool._slots)


def test_describe(pool):
    info = pool.describe()
    assert info.name == "cpu"
    assert info.limits.warp_size == 32
    assert info.versions


def test_equal_requests_are_compiled_once(pool):
    before = jobs_done(pool)
    first, second = pool.submit(ask(11)), pool.submit(ask(11))
    assert isinstance(first.result(60), Binary)
    assert second.result(60) is first.result(60)
    assert pool.compile(ask(11)) is first.result(60)
    assert jobs_done(pool) == before + 1
    assert pool.compile(ask(12)) != first.result(60)


def test_requests_that_mean_the_same_are_compiled_once(pool):
    first = pool.compile(ask(13, meaning="thirteen"))
    assert isinstance(first, Binary)
    before = jobs_done(pool)
    assert pool.compile(ask(13, "// moved\n" + SOURCE, meaning="thirteen")) is first
    assert jobs_done(pool) == before


def test_a_mistake_has_its_reason_and_the_compilers_words(pool):
    failed = pool.compile(ask("no_such_name"))
    assert isinstance(failed, CompileFailed)
    assert "no_such_name" in failed.reason
    assert "no_such_name" in failed.log


def test_what_a_device_does_not_offer_says_so(pool):
    failed = pool.compile(
        ask(source='__global__ void k(const float* x, float* out, int n) {\n  asm volatile("cp.async.wait_all;");\n}\n')
    )
    assert isinstance(failed, CompileFailed)
    assert failed.reason.startswith("unsupported: ")
    assert ":2" in failed.reason


def test_preprocess(pool):
    tokens = pool.preprocess(ask(7))
    assert "k" in tokens
    assert "7" in tokens
    assert "VALUE" not in tokens


def test_results_are_kept_for_the_next_run(tmp_path):
    with CompilePool("cpu", cache_dir=tmp_path / "cache") as first:
        built, failed = first.compile(ask(21)), first.compile(ask("oops"))
    with CompilePool("cpu", cache_dir=tmp_path / "cache") as second:
        assert second.compile(ask(21)) == built
        assert second.compile(ask("oops")) == failed
        assert jobs_done(second) == 1  # describing the device
        (entry,) = [path for path in (tmp_path / "cache").glob("*/*") if path.stat().st_size > 5000]
        entry.write_bytes(b"rubbish")
    with CompilePool("cpu", cache_dir=tmp_path / "cache") as third:
        assert isinstance(third.compile(ask(21)), Binary)
        assert jobs_done(third) == 2


def test_an_edited_header_is_compiled_anew(tmp_path, pool):
    header = tmp_path / "value.h"
    source = '#include "value.h"\n__global__ void k(const float* x, float* out, int n) { out[threadIdx.x] = HERE; }\n'
    header.write_text("#define HERE 1.0f\n")
    first = pool.compile(ask(source=source, source_file=tmp_path / "k.cu"))
    assert isinstance(first, Binary)
    header.write_text("#define HERE nothing\n")
    os.utime(header, ns=(1, 1))
    assert isinstance(pool.compile(ask(source=source, source_file=tmp_path / "k.cu")), CompileFailed)


def test_nothing_compiles_while_paused(pool):
    under_way = pool.submit(ask(31))
    pool.pause()
    assert under_way.done() or not under_way.running()
    waiting = pool.submit(ask(32))
    time.sleep(0.1)
    assert not waiting.running()
    assert not waiting.done()
    pool.resume()
    assert isinstance(waiting.result(60), Binary)
    assert isinstance(under_way.result(60), Binary)


def test_a_compiler_that_hangs(tmp_path):
    cores = frozenset(os.sched_getaffinity(0))
    with CompilePool("cpu", cache_dir=tmp_path, deadline_s=8.0, cores=cores) as pool:
        pool.describe()
        endless = pool.submit(ask(source=ENDLESS))
        with pool.reinforced(cores):
            assert isinstance(pool.compile(ask(41)), Binary)
            assert not endless.done(), "the other one was compiled beside it"
        assert endless.result() == TimedOut("compiling took longer than 8 s", 8.0)
        assert isinstance(pool.compile(ask(41)), Binary)
    # What is kept is written behind the result, so only after closing is all of it there: a timeout is not.
    assert len([path for path in tmp_path.glob("*/*") if path.is_file()]) == 1


class Forgetful(queue.SimpleQueue):
    """As CPython's may be: told to wait for a while, it waits for ever."""

    def get(self, block=True, timeout=None):
        return super().get(block)


def test_assistants_end_whatever_the_queue_does(monkeypatch):
    monkeypatch.setattr("warpsmith.compile.pool.queue.SimpleQueue", Forgetful)
    cores = frozenset(os.sched_getaffinity(0))
    with CompilePool("cpu", cache_dir=None, cores=cores) as pool:
        pool.describe()

        def assisted():
            with pool.reinforced(cores):
                pass

        done = threading.Thread(target=assisted, daemon=True)
        done.start()
        done.join(120)
        assert not done.is_alive()


def test_a_compiler_that_eats_memory():
    with CompilePool("cpu", cache_dir=None, memory_bytes=1 << 30) as pool:
        outcome = pool.compile(ask(source=GREEDY))
        assert isinstance(outcome, CompileFailed | Crashed)
        assert "memory" in outcome.reason + getattr(outcome, "log", "")
        assert isinstance(pool.compile(ask(51)), Binary)


def test_a_worker_that_died_unseen_costs_nothing(pool):
    pool.describe()
    os.kill(pool._slots[0]._worker.pid, signal.SIGKILL)
    assert isinstance(pool.compile(ask(61)), Binary)


def test_a_worker_killed_at_work_is_not_held_against_the_source(pool):
    pool.describe()
    with killed_at_work(pool._slots[0]._worker):
        assert isinstance(pool.compile(ask(62)), Binary)
    with killed_at_work(pool._slots[0]._worker, and_its_successor=True):
        outcome = pool.compile(ask(63))
    assert isinstance(outcome, Crashed)
    assert outcome.reason == "killed by SIGKILL, probably by the system, out of memory; so was a second worker"
    assert isinstance(pool.compile(ask(63)), Binary)


def test_a_killed_compiler_is_not_held_against_the_source():
    """The system chooses the largest process, which is the compiler more often than the worker that started it."""
    with CompilePool("cpu", cache_dir=None, deadline_s=600, folders=[Path()]) as pool:
        pool.describe()
        worker = pool._slots[0]._worker
        outcome = pool.submit(ask(source=ENDLESS))
        kill_compiler_of(worker.pid)
        while (second := pool._slots[0]._worker) in (None, worker):  # until another took over
            assert not outcome.done()
            time.sleep(0.01)
        kill_compiler_of(second.pid)
        assert outcome.result(120).reason.startswith("its compiler was killed by SIGKILL")


def kill_compiler_of(worker: int) -> None:
    """Once it is at work."""
    children = Path(f"/proc/{worker}/task/{worker}/children")
    while not (pids := children.read_text().split()) or b"-cc1" not in Path(f"/proc/{pids[0]}/cmdline").read_bytes():
        time.sleep(0.01)
    os.kill(int(pids[0]), signal.SIGKILL)


def test_closing_ends_compilers_at_work():
    pool = CompilePool("cpu", cache_dir=None, deadline_s=1000, folders=[Path()])
    pool.describe()
    busy, waiting = pool.submit(ask(source=ENDLESS)), pool.submit(ask(71))
    while not busy.running():
        time.sleep(0.01)
    pool.close()
    assert isinstance(busy.result(0), Crashed)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(ask(72))


def test_kill_minus_nine_of_the_tuner_ends_clang_too():
    here = Path(__file__).parent
    script = f"""
        import sys
        sys.path.insert(0, {str(here)!r})
        from test_isolation_compile import ENDLESS, CompilePool, Path, ask
        pool = CompilePool("cpu", cache_dir=None, deadline_s=1000, folders=[Path()])
        pool.describe()
        pool.submit(ask(source=ENDLESS))
        print(pool._slots[0]._worker.pid, flush=True)
        sys.stdin.read()
    """
    tuner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    group = int(tuner.stdout.readline())
    wait_until(lambda: len(members(group)) >= 2)  # the worker and its clang
    tuner.kill()
    tuner.communicate()
    wait_until(lambda: not members(group))


def members(group: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(process_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_until(condition) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_pinned_pool_describes_the_whole_device():
    """Compute units are a limit of the device, not of the cores that happen to compile."""
    first = frozenset({min(os.sched_getaffinity(0))})
    with CompilePool("cpu", cache_dir=None, cores=first) as pinned, CompilePool("cpu", cache_dir=None) as free:
        assert pinned.describe() == free.describe()
