"""Kernels that crash, scribble, hang or eat memory, for real: each ends as its outcome, and the bench goes on."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from bench_support import UNARY, candidate, make_kernel, prepare, request

from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import CompileFailed, Crashed, LaunchFailed, TimedOut, Verdict
from warpsmith.devices.base import Binary
from warpsmith.measure.bench import Bench

KERNEL = make_kernel(*UNARY)
W = KERNEL.workloads[0].name


def body(statements: str, before: str = "") -> str:
    return f"""
    {before}
    __global__ void k(const float* x, float* out, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {statements}
    }}
    """


ENDLESS = "volatile int spin = 1; while (spin) { } if (i < n) out[i] = spin;"
GOOD = body("if (i < n) out[i] = 2 * x[i];")


@pytest.fixture(scope="module")
def pool():
    with CompilePool("cpu", cache_dir=None, deadline_s=30) as pool:
        yield pool


@pytest.fixture(scope="module")
def bench():
    (workload,) = prepare(KERNEL)
    with Bench("cpu", [workload], memory_bytes=2 << 30, launch_deadline_s=2.0) as bench:
        yield bench
    workload.close()


@pytest.fixture
def verify(pool, bench):
    """Verify a bad kernel, then show that the good one still passes on the same bench."""

    def run(source):
        outcome = bench.verify(candidate(pool, KERNEL, source), W)
        assert bench.verify(candidate(pool, KERNEL, GOOD), W).passed
        return outcome

    return run


def test_a_null_pointer(verify, bench):
    before = bench.restarts
    outcome = verify(body("if (i == 0) *(volatile float*)nullptr = x[i];"))
    assert isinstance(outcome, Crashed)
    assert "SIGSEGV" in outcome.reason
    assert bench.restarts == before + 1


def test_a_write_far_out_of_bounds(verify):
    outcome = verify(body("if (i < n) out[i + (1ll << 40)] = x[i];"))
    assert isinstance(outcome, Crashed)
    assert "SIGSEGV" in outcome.reason


@pytest.mark.parametrize(
    ("index", "where"), [("n", "nearest 0 bytes past its end"), ("-1", "nearest 1 bytes before its beginning")]
)
def test_one_element_out_of_bounds(verify, bench, index, where):
    before = bench.restarts
    outcome = verify(body(f"if (i < n) out[i] = 2 * x[i]; if (i == 0) out[{index}] = 1;"))
    assert isinstance(outcome, Verdict)
    assert not outcome.passed
    assert outcome.failure.argument == "out"
    assert outcome.failure.problem.endswith(where)
    assert [check.passed for check in outcome.checks] == [False, True]
    assert bench.restarts == before + 1  # the worker's own memory is in doubt


def test_an_input_is_written(verify):
    outcome = verify(body("if (i < n) { out[i] = 2 * x[i]; if (i == 42) ((float*)x)[i] += 1; }"))
    assert outcome.failure.problem == "an input was changed, first at [42]"
    assert outcome.failure.argument == "x"


def test_a_result_of_nan(verify):
    outcome = verify(body("if (i < n) out[i] = i == 900 ? 0.0f / (x[i] - x[i]) : 2 * x[i];"))
    assert not outcome.passed
    assert outcome.failure.where == (900,)
    assert outcome.failure.got == "nan"


def test_an_element_is_not_written(verify):
    outcome = verify(body("if (i < n - 1) out[i] = 2 * x[i];"))
    assert outcome.failure.where == (999,)
    assert outcome.failure.problem.startswith("1 of 1000 elements differ")


def test_a_loop_without_end(verify, bench):
    before = bench.restarts
    outcome = verify(body(ENDLESS))
    assert outcome == TimedOut("did not finish within 2 s", 2.0)
    assert bench.restarts == before + 1


@pytest.mark.parametrize("statement", ["assert(i < 0);", "__trap();"])
def test_a_trap(verify, bench, statement):
    before = bench.restarts
    outcome = verify(body(f"if (i == 5) {statement} if (i < n) out[i] = 2 * x[i];", "#include <cassert>\n"))
    assert isinstance(outcome, LaunchFailed)
    assert bench.restarts == before  # the kernel failed, not the worker


HUGE = {
    "private": "volatile char big[1u << 31]; for (long j = 0; j < (1l << 31); j += 4096) big[j] = j; if (i < n) out[i] = big[i];",
    "shared": "__shared__ float big[1 << 28]; big[i] = x[0]; __syncthreads(); if (i < n) out[i] = big[i * 7919];",
}


@pytest.mark.parametrize("where", HUGE)
def test_memory_beyond_all_bounds(pool, bench, where):
    """Compiler, runtime and system may each be the first to object; one of them does, or the outputs stay poisoned."""
    source = body(HUGE[where])
    outcome = pool.compile(request(KERNEL, source, KERNEL.workloads[0]))
    if isinstance(outcome, Binary):
        outcome = bench.verify(candidate(pool, KERNEL, source), W)
    match outcome:
        case Verdict():
            assert not outcome.passed
        case _:
            assert isinstance(outcome, CompileFailed | LaunchFailed | Crashed | TimedOut)
    assert bench.verify(candidate(pool, KERNEL, GOOD), W).passed


def test_kill_minus_nine_of_the_tuner_ends_a_kernel_that_runs():
    script = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_isolation_kernels import *
        with CompilePool("cpu", cache_dir=None) as pool:
            good, endless = candidate(pool, KERNEL, GOOD), candidate(pool, KERNEL, body(ENDLESS))
        (workload,) = prepare(KERNEL)
        bench = Bench("cpu", [workload], launch_deadline_s=1000)
        assert bench.verify(good, W).passed
        print(bench._attachment.process.pid, flush=True)
        bench.verify(endless, W)
    """
    tuner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    pid = int(tuner.stdout.readline())
    busy_before = processor_ticks(pid)
    wait_until(lambda: processor_ticks(pid) > busy_before + 20)  # it is in the endless kernel now
    tuner.kill()
    tuner.communicate()
    wait_until(lambda: processor_ticks(pid) is None)


def processor_ticks(pid: int) -> int | None:
    """Ticks of user time so far; None when the process is gone (or dead and not collected yet)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[11]) if fields[0] != "Z" else None


def wait_until(condition) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
