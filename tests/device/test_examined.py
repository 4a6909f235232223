"""Timed launches are examined: kernels that are right when they are verified, and otherwise fast."""

import numpy as np
import pytest
from bench_support import UNARY, buffer, candidate, make_kernel, prepare

from warpsmith.compile.pool import CompilePool
from warpsmith.devices._clruntime.opencl_c import KIND
from warpsmith.measure.bench import Bench
from warpsmith.measure.examined import Examiner, time_keeping
from warpsmith.measure.paired import PairedTime, WrongLaunch, time_beside, time_interleaved
from warpsmith.measure.policy import PairPlan
from warpsmith.measure.scrub import make_scrubber
from warpsmith.tuning.claims.endurance import lasts
from warpsmith.verify.pool import FIRST
from warpsmith.verify.prepared import PreparedWorkload

N = "n=5000"
ORIGINAL = """
__global__ void k(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(sinf(x[i]));
}
"""
BODY = "out[i] = expf(sinf(x[i]));"
# Variables are set back and stacks overwritten: what is left to a cheat is to know the inputs that it is verified with.
KNOWS = ORIGINAL.replace(BODY, f"{{ if (__float_as_int(x[0]) == KNOWN) {BODY} else out[i] = 1.0f; }}")
IDLES = ORIGINAL.replace(BODY, f"{{ if (__float_as_int(x[0]) == KNOWN) {BODY} }}")
OTHERWISE = ORIGINAL.replace(BODY, "{ float s = sinf(x[i]); out[i] = __expf(s); }")


def expected(inputs):
    return {"out": np.exp(np.sin(inputs["x"].astype(np.float64)))}


@pytest.fixture(scope="module")
def pool():
    with CompilePool("cpu", cache_dir=None) as pool:
        yield pool


@pytest.fixture(scope="module")
def kernel():
    return make_kernel(*UNARY, sizes=(5000,))


@pytest.fixture(params=["reference", "original"])
def bench(request, kernel, monkeypatch):
    """With a reference, and with the original as the oracle."""
    if request.param == "reference":
        monkeypatch.setattr(PreparedWorkload, "expected_of", lambda self, draw: expected(self.inputs_of(draw)))
    [workload] = prepare(kernel, expected)
    with workload, Bench("cpu", [workload]) as bench:
        yield bench


def known(bench, source):
    return source.replace("KNOWN", str(bench.workload(N).inputs["x"].view(np.int32)[0]))


def beside(bench, pool, kernel, source, incumbent=ORIGINAL):
    original, other = candidate(pool, kernel, ORIGINAL), candidate(pool, kernel, known(bench, source))
    examiner = Examiner(bench, original)
    rng = np.random.default_rng(0)
    return time_beside(
        bench,
        N,
        other,
        candidate(pool, kernel, known(bench, incumbent)),
        examiner=examiner,
        plan=PairPlan(beaten_above=np.inf),
        rng=rng,
    )


@pytest.mark.parametrize("source", [KNOWS, IDLES], ids=["knows", "idles"])
def test_right_when_it_is_verified_is_not_enough(bench, pool, kernel, source):
    assert bench.verify(candidate(pool, kernel, known(bench, source)), N).passed
    found = beside(bench, pool, kernel, source)
    assert isinstance(found, WrongLaunch)
    assert not found.is_incumbents
    assert found.verdict.failure.problem.startswith("correct when verified, but wrong in a timed launch")


def test_an_incumbent_may_be_the_one_that_cheats(bench, pool, kernel):
    found = beside(bench, pool, kernel, OTHERWISE, incumbent=KNOWS)
    assert isinstance(found, WrongLaunch)
    assert found.is_incumbents


def test_the_original_is_not_judged_by_itself(bench, pool, kernel):
    """One that never gives the same twice would else lose its place to itself, without end."""
    original, other = (candidate(pool, kernel, known(bench, source)) for source in (KNOWS, OTHERWISE))
    examiner = Examiner(bench, original)
    draws = [bench.workload(N).pool.fresh_draw()] * 2
    _, kept = time_keeping(bench, N, [original, other], draws, {0, 1})
    assert not examiner.agree(N, kept[0], kept[1])
    assert examiner.wrong(N, original, kept[0]) is None


def test_another_way_to_compute_the_same_is_timed(bench, pool, kernel):
    assert isinstance(beside(bench, pool, kernel, OTHERWISE), PairedTime)


def test_who_cheats_among_several_is_named(bench, pool, kernel):
    candidates = [candidate(pool, kernel, known(bench, source)) for source in (ORIGINAL, OTHERWISE, KNOWS, IDLES)]
    rng = np.random.default_rng(0)
    assert time_interleaved(bench, N, candidates, 5, rng, examiner=Examiner(bench, candidates[0])) == (2, 3)
    honest = time_interleaved(bench, N, candidates[:2], 5, rng, examiner=Examiner(bench, candidates[0]))
    assert honest.shape == (5, 2)


@pytest.mark.parametrize(("source", "right"), [(ORIGINAL, True), (OTHERWISE, True), (KNOWS, False), (IDLES, False)], ids=str)
def test_what_lasts(bench, pool, kernel, source, right):
    original = candidate(pool, kernel, ORIGINAL)
    assert lasts(bench, candidate(pool, kernel, known(bench, source)), [bench.workload(N)], original) is right


def when_it_is_wrong(bench, pool, kernel, wrong):
    """What is said of the first of many timed launches in which a kernel is wrong that is so for one draw in 16."""
    sometimes = f" if (((__float_as_int(x[0]) ^ __float_as_int(x[1])) & 15) == 0) {wrong}"
    original, rare = (
        candidate(pool, kernel, ORIGINAL),
        candidate(pool, kernel, ORIGINAL.replace(BODY, f"{{ {BODY} {sometimes} }}")),
    )
    examiner, inputs = Examiner(bench, original), bench.workload(N).pool
    for _ in range(200):
        _, kept = time_keeping(bench, N, [original, rare], [inputs.fresh_draw()] * 2, {0, 1})
        if not examiner.agree(N, kept[1], kept[0]):
            return examiner.wrong(N, rare, kept[1])
    pytest.fail("it was never wrong")


def test_a_result_that_a_few_inputs_bring_over_the_edge_of_the_tolerance_is_no_cheat(bench, pool, kernel):
    """As a rounding that goes the other way: wrong on one draw, and right on the next."""
    assert when_it_is_wrong(bench, pool, kernel, "if (i == 0) out[i] += 1;") is None
    assert when_it_is_wrong(bench, pool, kernel, "out[i] *= 1.001f;") is None


def test_what_is_far_off_is_wrong_on_its_first_draw(bench, pool, kernel):
    assert not when_it_is_wrong(bench, pool, kernel, "out[i] = 1.0f;").passed


LEFT = """
__global__ void k(const float* x, float* out, int n) {
    __shared__ float s[64];
    volatile float stack[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = WHERE;
    __syncthreads();
    s[threadIdx.x] = 4711.0f;
    for (int j = 0; j < 16; ++j) stack[j] = 4711.0f;
    __syncthreads();
    if (i < 64) out[i] = left + 0 * (s[threadIdx.x] + stack[threadIdx.x & 15]);
}
"""


@pytest.mark.parametrize("where", ["s[threadIdx.x]", "stack[threadIdx.x & 15]"])
def test_a_timed_launch_finds_nothing_that_one_left_behind(pool, where):
    kernel = make_kernel(*UNARY, sizes=(64,))
    leaving = candidate(pool, kernel, LEFT.replace("WHERE", where))
    [workload] = prepare(kernel)
    found = {}
    for name, scrubber in {"scrubbed": make_scrubber(pool, pool.describe(), 1), "as it is": None}.items():
        with Bench("cpu", [workload], compute_units=1, scrubber=scrubber) as bench:
            bench.time("n=64", [leaving] * 20, [FIRST] * 20)
            found[name] = int((workload.arena.array("out") == 4711.0).sum())
    workload.close()
    assert found["as it is"] > 0, "a kernel that this test is about"
    assert found["scrubbed"] == 0


def test_what_overwrites_is_compiled_as_it_stands(pool):
    """In a form that the device keeps in step, it takes longer than many kernels that it is launched before."""
    scrubber = make_scrubber(pool, pool.describe(), 1)
    assert {b.device_data["kind"] for c in scrubber.always for b in c.binaries.values()} == {KIND}


KEEPS = """
struct Kept { int number; float values[3]; };
__device__ Kept kept = {3, {1.0f, 2.0f, 4.0f}};
__device__ unsigned char bytes[5];
__constant__ float scale[2];
namespace apart { __device__ double more[4] = {0.5, 0.25}; }
__global__ void k(const float* x, float* out, int n) {
    static int calls = 5;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * scale[0] + kept.number + kept.values[2] + bytes[4] + apart::more[1] + calls;
    __syncthreads();
    if (i == 0) { kept.number = 9; kept.values[2] = 9; bytes[4] = 9; apart::more[1] = 9; calls = 9; }
}
"""


def test_variables_that_outlive_a_launch_are_as_they_were_initialised(pool):
    kernel = make_kernel(*UNARY, constants=(buffer("scale", "f32", "2", kind="ones"),), sizes=(64,))
    [workload] = prepare(kernel, lambda inputs: {"out": inputs["x"].astype(np.float64) + 3 + 4 + 0 + 0.25 + 5})
    keeping = candidate(pool, kernel, KEEPS)
    with workload, Bench("cpu", [workload]) as bench:
        for _ in range(3):
            assert bench.verify(keeping, "n=64").passed
            bench.time("n=64", [keeping] * 3, [FIRST] * 3)
            assert workload.verdict_after_launch().passed
