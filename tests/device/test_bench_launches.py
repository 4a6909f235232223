"""What the bench launches, restores, times and judges."""

import os
import signal

import numpy as np
import pytest
from bench_support import UNARY, buffer, candidate, killed_at_work, make_kernel, prepare, scalar

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import Crashed, LaunchFailed
from warpsmith.measure import bench as bench_module
from warpsmith.measure.bench import Bench
from warpsmith.verify.pool import FIRST

DOUBLE = """
__global__ void k(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
"""


@pytest.fixture(scope="module")
def pool():
    with CompilePool("cpu", cache_dir=None) as pool:
        yield pool


@pytest.fixture
def on_bench():
    """A bench for a kernel, with an oracle."""
    closing = []

    def start(kernel, expected=None, **options):
        workloads = prepare(kernel, expected)
        bench = Bench("cpu", workloads, **options)
        closing.extend([bench, *workloads])
        return bench, workloads

    yield start
    for item in closing:
        item.close()


def time_first(bench, sequence):
    """On the inputs that the workload was prepared with."""
    return bench.time("n=1000", sequence, [FIRST] * len(sequence))


def test_several_workloads_and_candidates_in_any_order(pool, on_bench):
    kernel = make_kernel(*UNARY, sizes=(1, 63, 1000))
    bench, _ = on_bench(kernel)
    right = candidate(pool, kernel, DOUBLE)
    wrong = candidate(pool, kernel, DOUBLE.replace("2 * x[i]", "3 * x[i]"))
    for name in ("n=1", "n=1000", "n=63", "n=1"):
        assert bench.verify(right, name).passed
        verdict = bench.verify(wrong, name)
        assert not verdict.passed
        assert not verdict.failure.problem.startswith("written")
    assert bench.restarts == 0


def test_timing_is_one_number_a_launch(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, (workload,) = on_bench(kernel)
    one = candidate(pool, kernel, DOUBLE)
    other = candidate(pool, kernel, DOUBLE.replace("2 * x[i]", "x[i] + x[i]"))
    times = time_first(bench, [one, other, other, one, one])
    assert len(times) == 5
    assert all(nanoseconds > 0 for nanoseconds in times)
    assert workload.verdict_after_launch().passed
    assert time_first(bench, []) == []
    assert bench.run_once(one, "n=1000") > 0


@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_a_timed_launch_finds_nothing_of_the_one_before(pool, on_bench, dtype):
    kernel = make_kernel(buffer("x", dtype), buffer("out", dtype, role="out"), scalar("n", "i32", "n"))
    source = DOUBLE.replace("float", {"f32": "float", "i32": "int"}[dtype])
    bench, (workload,) = on_bench(kernel, lambda inputs: {"out": 2 * inputs["x"]})
    honest = candidate(pool, kernel, source)
    idle = candidate(pool, kernel, source.replace("if (i < n)", "if (i < n && out[i] != 2 * x[i])").replace("= 2 *", "= 3 *"))
    assert len(time_first(bench, [honest, idle])) == 2
    assert not workload.verdict_after_launch().passed


def test_inout_is_restored_before_every_launch(pool, on_bench):
    kernel = make_kernel(
        buffer("x", "i32", role="inout"), buffer("total", "i32", "1", role="inout", kind="zeros"), scalar("n", "i32", "n")
    )
    source = """__global__ void k(int* x, int* total, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { x[i] += 1; atomicAdd(total, 1); }
    }"""
    bench, (workload,) = on_bench(kernel, lambda inputs: {"x": inputs["x"] + 1, "total": np.array([1000], np.int32)})
    counting = candidate(pool, kernel, source)
    assert bench.verify(counting, "n=1000").passed
    assert len(time_first(bench, [counting] * 4)) == 4
    assert workload.verdict_after_launch().passed
    assert bench.verify(counting, "n=1000").passed


def test_scalars_of_every_size_and_null_pointers(pool, on_bench):
    kernel = make_kernel(
        scalar("a", "f16", 1.5),
        scalar("b", "bf16", -2.5),
        scalar("c", "u8", 200),
        scalar("d", "i64", -(2**40)),
        scalar("e", "bool", 1),
        scalar("f", "f64", 0.1),
        buffer("nothing", "f32", "1", null=True),
        buffer("out", "f64", "n", role="out"),
        sizes=(7,),
    )
    source = """
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    __global__ void k(__half a, __nv_bfloat16 b, unsigned char c, long long d, bool e, double f, const float* g, double* out) {
        double all[7] = {__half2float(a), __bfloat162float(b), (double)c, (double)d, (double)e, f, g == nullptr ? 1.0 : 0.0};
        if (threadIdx.x < 7) out[threadIdx.x] = all[threadIdx.x];
    }"""
    bench, _ = on_bench(kernel, lambda inputs: {"out": np.array([1.5, -2.5, 200, -(2.0**40), 1, 0.1, 1])})
    verdict = bench.verify(candidate(pool, kernel, source), "n=7")
    assert verdict.passed, verdict.failure


def test_constants_follow_the_workload(pool, on_bench):
    table = buffer("table", "f32", "n")
    kernel = make_kernel(buffer("out", "f32", role="out"), constants=(table,), sizes=(4, 16))
    source = """
    __constant__ float table[16];
    __global__ void k(float* out) { if (threadIdx.x < N) out[threadIdx.x] = table[threadIdx.x]; }
    """
    bench, _ = on_bench(kernel, lambda inputs: {"out": inputs["table"].astype(np.float64)})
    four, sixteen = (candidate(pool, kernel, f"#define N {n}\n{source}") for n in (4, 16))
    for _ in range(2):
        assert bench.verify(four, "n=4").passed
        assert bench.verify(sixteen, "n=16").passed


def test_an_empty_buffer_can_be_passed(pool, on_bench):
    kernel = make_kernel(buffer("x", "f32"), buffer("unused", "f32", "n - 1000"), buffer("out", "f32", role="out"))
    source = """__global__ void k(const float* x, const float* unused, float* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < 1000) out[i] = 2 * x[i];
    }"""
    bench, _ = on_bench(kernel)
    assert bench.verify(candidate(pool, kernel, source), "n=1000").passed


def test_the_original_can_be_the_oracle(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, (workload,) = on_bench(kernel)
    workload.expected = None
    original = candidate(pool, kernel, DOUBLE)
    assert isinstance(bench.run_once(original, "n=1000"), int)
    workload.adopt_outputs_as_expected()
    assert bench.verify(original, "n=1000").passed
    assert not bench.verify(candidate(pool, kernel, DOUBLE.replace("2 *", "2.5f *")), "n=1000").passed


def test_a_worker_that_died_unseen_is_nobodys_outcome(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel)
    right = candidate(pool, kernel, DOUBLE)
    assert bench.verify(right, "n=1000").passed
    pid = bench._attachment.process.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert bench.verify(right, "n=1000").passed
    assert bench.restarts == 1
    assert len(time_first(bench, [right, right])) == 2


def test_a_worker_killed_at_work_is_not_held_against_the_candidate(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel)
    right = candidate(pool, kernel, DOUBLE)
    bench.start()
    with killed_at_work(bench._attachment.process):
        assert bench.verify(right, "n=1000").passed
    with killed_at_work(bench._attachment.process):
        assert len(bench.time("n=1000", [right, right], [0, 1])) == 2
    assert bench.verify(right, "n=1000").passed
    assert bench.restarts == 2


def test_two_workers_killed_at_work_are_an_outcome(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel)
    right = candidate(pool, kernel, DOUBLE)
    bench.start()
    with killed_at_work(bench._attachment.process, and_its_successor=True):
        outcome = bench.verify(right, "n=1000")
    assert isinstance(outcome, Crashed)
    assert outcome.reason == "killed by SIGKILL, probably by the system, out of memory; so was a second worker"
    assert bench.verify(right, "n=1000").passed


def test_programs_are_unloaded_and_loaded_again(pool, on_bench, monkeypatch):
    monkeypatch.setattr(bench_module, "_LOADED_AT_ONCE", 2)
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel)
    all_right = [candidate(pool, kernel, DOUBLE.replace("2 * x[i]", f"x[i] * {2 * n} / {n}")) for n in (1, 2, 4)]
    for right in all_right * 2:
        assert bench.verify(right, "n=1000").passed
    assert bench.restarts == 0


def test_a_launch_the_device_refuses_leaves_the_bench_usable(pool, on_bench):
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel)
    right = candidate(pool, kernel, DOUBLE)
    too_large = {"n=1000": bench_module.Geometry((1, 1, 1), (1 << 20, 1, 1))}
    refused = bench_module.Candidate("large", right.binaries, too_large, right.scalars)
    assert isinstance(bench.run_once(refused, "n=1000"), LaunchFailed)
    assert isinstance(time_first(bench, [right, refused]), LaunchFailed)
    assert len(time_first(bench, [right])) == 1
    assert bench.restarts == 0


def test_cores_and_compute_units(pool, on_bench):
    core = min(os.sched_getaffinity(0))
    kernel = make_kernel(*UNARY)
    bench, _ = on_bench(kernel, compute_units=1, cores=frozenset({core}))
    assert bench.verify(candidate(pool, kernel, DOUBLE), "n=1000").passed
    assert os.sched_getaffinity(bench._attachment.process.pid) == {core}


def test_a_device_that_is_not_there_is_an_error_not_an_outcome():
    with pytest.raises(WarpsmithError, match="no-such-device"):
        Bench("no-such-device", [])
