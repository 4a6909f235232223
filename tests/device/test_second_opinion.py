"""A second opinion on the original: what the device gets wrong is told, whoever is the oracle; all else is as without one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest
from misvectorised import IN_CUDA, IN_OPENCL, need_it_wrong

from warpsmith import KernelStudy, api
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import BaselineError, InputError
from warpsmith.measure.bench import Bench
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.original import establish_original
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.verify.prepared import prepare_all

TOML = """\
[kernel]
name = "k"
source = "{source}"
entry = "k"
[arguments]
out = {{ dtype = "i32", shape = ["threads"], role = "inout", init = "zeros" }}
in = {{ dtype = "i32", shape = ["threads"], init = "randint", low = 0, high = 48 }}
odd = {{ dtype = "i32", shape = ["threads + n"], init = "randint", low = 0, high = 60 }}
even = {{ dtype = "i32", shape = ["n", 4], init = "randint", low = 0, high = 60 }}
n = {{ dtype = "i32", value = "n" }}
[launch]
grid = ["threads / 64"]
block = [64]
[workloads]
large = {{ threads = 1024, n = 24 }}
small = {{ threads = 256, n = 24 }}
"""
RIGHT = """\
import numpy as np
def k(**given):
    out, n = np.zeros_like(given["in"]), given["n"]
    for t, k in enumerate(given["in"]):
        last = 7
        for i in range(k & 1, n):
            if i * 2 > k:
                out[t] = last
                break
            last = given["odd"][t + i] if k & 1 else given["even"][i, 2]
    return {"out": out}
"""
ROUNDING_TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
out = { dtype = "i32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"], init = "uniform", low = 0.01, high = 9 }
[launch]
grid = ["n / 64"]
block = [64]
[workloads]
only = { n = 65536 }
"""
# The two ways differ in the last bit of rsqrtf, so that some of these are rounded the other way.
ROUNDING = """
__global__ void k(int* out, const float* in) { const int i = blockIdx.x * 64 + threadIdx.x; out[i] = rintf(1e4f * rsqrtf(in[i])); }
"""
WRONG = "import numpy as np\ndef k(**given):\n    return {'out': np.full_like(given['in'], -5)}\n"
HEAD = "__global__ void k(int* out, const int* in, const int* odd, const int* even, int n) { const int t = threadIdx.x;"
MINE = "const int i = blockIdx.x * 64 + t;"
# Optimised it is one multiplication; as it stands, nobody waits for it.
ENDLESS = f"{HEAD} {MINE} int sum = 0; for (long long j = 0; j < 1000000000ll * n; ++j) sum += in[i]; out[i] = sum; }}"
SHUFFLING = f"{HEAD} {MINE} out[i] = __shfl_xor_sync(~0u, in[i], 1); }}"
PLAIN = "the unoptimised build"


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPSMITH_SECOND_OPINION", "on")
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "home"))


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Kernel]:
    def make(source: str, reference: str | None = None) -> Kernel:
        name = "k.cl" if "__kernel" in source else "k.cu"
        (tmp_path / name).write_text(source)
        (tmp_path / "reference.py").write_text(reference or "")
        oracle = '[reference]\npython = "reference.py:k"\n' if reference is not None else ""
        (tmp_path / "kernel.toml").write_text(TOML.format(source=name) + oracle)
        return load_kernel(tmp_path)

    return make


def established(kernel: Kernel, launch_deadline_s: float = 10.0) -> int:
    """How often the worker had to be replaced on the way."""
    plain = untouched(kernel)
    with ExitStack() as stack:
        pool = stack.enter_context(CompilePool("cpu", cache_dir=None, folders=kernel.folders))
        builder = Builder(Binder(plain, pool.describe().limits), template_of(plain), pool)
        prepared = prepare_all(builder.binder, plain.workloads, 0, stack)
        bench = stack.enter_context(Bench("cpu", list(prepared.values()), launch_deadline_s=launch_deadline_s))
        original = establish_original(builder, bench, prepared)
        assert all(bench.verify(original, name).passed for name in prepared)
        return bench.restarts


@pytest.mark.parametrize("source", [IN_CUDA, IN_OPENCL], ids=["cuda", "opencl"])
def test_an_original_that_the_device_gets_wrong_is_no_oracle(kernel, source: str) -> None:
    need_it_wrong(source)
    with pytest.raises(BaselineError) as found:
        established(kernel(source))
    message = found.value.message
    assert message.startswith(
        "the original kernel cannot be the oracle on workload 'small': the unoptimised build gives a different result: out: "
    )
    assert "of 256 elements differ, worst at [" in message
    assert found.value.hint.startswith("give a NumPy reference in [reference]")
    assert "docs/concepts/cpu-device.md" in found.value.hint


def test_every_way_in_says_so(kernel, tmp_path: Path) -> None:
    need_it_wrong(IN_CUDA)
    wrong = kernel(IN_CUDA)
    with pytest.raises(BaselineError, match="cannot be the oracle"):
        api.tune(wrong, budget=api.Budget(2))
    with pytest.raises(BaselineError, match="cannot be the oracle"), laboratory(wrong, "cpu", binary_cache=tmp_path / "binaries"):
        pass
    with pytest.raises(BaselineError, match="cannot be the oracle"):
        KernelStudy(wrong)
    found = api.verify_kernel(wrong, seeds=2)
    doubted = [check for check in found["checks"] if check["outcome"] == "failed"]
    assert [(check["seed"], check["workload"]) for check in doubted] == list(product(found["seeds"], ("large", "small")))
    assert all(check["reason"].startswith("the unoptimised build gives a different result: out: ") for check in doubted)
    assert found["passed"] is False


def test_with_a_reference_the_device_gets_the_blame(kernel, tmp_path: Path) -> None:
    need_it_wrong(IN_CUDA)
    wrong = kernel(IN_CUDA, RIGHT)
    blame = f"elements differ.*; {PLAIN} passes: the device's compiler is at fault, not the kernel"
    with pytest.raises(BaselineError, match=f"the original kernel does not pass: out on large: .*{blame}") as found:
        api.tune(wrong, budget=api.Budget(2))
    assert found.value.hint.startswith("the vectoriser of the device's runtime gets some loops wrong")
    with (
        pytest.raises(BaselineError, match=f"the original kernel does not pass on workload 'small': out: .*{blame}"),
        laboratory(wrong, "cpu", binary_cache=tmp_path / "binaries"),
    ):
        pass
    checks = api.verify_kernel(wrong, seeds=1)["checks"]
    assert {check["outcome"] for check in checks} == {"failed"}
    assert all("elements differ" in check["reason"] and f"; {PLAIN} passes" in check["reason"] for check in checks)


def test_where_both_ways_are_wrong_the_kernel_is(kernel) -> None:
    with pytest.raises(BaselineError) as found:
        api.tune(kernel(IN_CUDA, WRONG), budget=api.Budget(2))
    assert "plainly" not in found.value.message
    assert found.value.hint.startswith("the original is the baseline of every speedup")


@pytest.mark.parametrize(
    ("source", "restarts"),
    [
        (f"{HEAD} {MINE} int j = 0; while (j < n && even[4 * j] < in[i]) ++j; out[i] = j; }}", 0),
        pytest.param(SHUFFLING, 0, id="does not compile plainly"),
        pytest.param(ENDLESS, 1, id="never ends plainly"),
    ],
)
def test_others_are_established_as_ever(kernel, source: str, restarts: int) -> None:
    assert established(kernel(source), launch_deadline_s=2.0) == restarts


def test_what_the_last_bit_of_a_float_decides_is_no_doubt(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(ROUNDING)
    (tmp_path / "kernel.toml").write_text(ROUNDING_TOML)
    assert established(load_kernel(tmp_path)) == 0


def test_nobody_has_to_ask(kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPSMITH_SECOND_OPINION", "off")
    established(kernel(IN_CUDA))
    monkeypatch.setenv("WARPSMITH_SECOND_OPINION", "perhaps")
    with pytest.raises(InputError, match="WARPSMITH_SECOND_OPINION is 'perhaps'"):
        established(kernel(IN_CUDA))
