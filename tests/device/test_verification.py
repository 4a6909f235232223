"""`verify`: what is right passes with inputs of every seed; what is wrong, crashes or cannot run is told apart and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.cli.render_verify import render_verification
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import TimedOut
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.choices import OfTemplate
from warpsmith.tuning.afterwards.verification import _Verifying, verify_configurations
from warpsmith.tuning.afterwards.verified import SubjectKind, VerifiedSubject
from warpsmith.verify.seeds import fresh_seeds

TOML = """\
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, 64)"]
block = [64]
[workloads]
even = { n = 256 }
odd = { n = 100, heldout = true }
[parameters]
FORM = { values = [0, 1, 2, 3, 4], default = 0 }
[[constraints]]
expr = "FORM != 1 or n < 1000"
"""
SOURCE = """\
#ifndef FORM
#define FORM 0
#endif
__global__ void k(float* y, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
#if FORM == 3
  y[i] = 2.0f * x[i < n ? i : 0];      // writes past the end where n is no multiple of 64
#elif FORM == 4
  __shared__ float row[64];            // no barrier: right where the lanes of a warp go together
  row[threadIdx.x] = i < n ? x[i] : 0;
  if (i < n) y[i] = 2.0f * row[threadIdx.x] + 0.0f * row[threadIdx.x ^ 1];
#elif FORM == 2
  if (i < n) y[i] = i == 17 ? 3.0f * x[i] : 2.0f * x[i];
#elif FORM == 1
  if (i < n) y[i] = x[i] + x[i];
#else
  if (i < n) y[i] = 2.0f * x[i];
#endif
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Kernel]:
    def make(reference: str = "") -> Kernel:
        (tmp_path / "kernel.toml").write_text(TOML + ('[reference]\npython = "reference.py:k"\n' if reference else ""))
        (tmp_path / "k.cu").write_text(SOURCE)
        (tmp_path / "reference.py").write_text(reference)
        return load_kernel(tmp_path)

    return make


def found_of(kernel: Kernel, forms: dict[int, str], **more: Any) -> dict[str, Any]:
    configurations = {Configuration.of({"FORM": form}): [name] for form, name in forms.items()}
    return verify_configurations(OfTemplate.of(kernel), configurations, "cpu", **{"seeds": (1001,), **more}).as_dict()


def test_each_configuration_workload_and_seed_has_its_answer(kernel):
    forms = {0: "for even", 1: "general", 2: "one element", 3: "past the end"}
    found = found_of(kernel(), forms, seeds=(1001, 1002))
    assert [c["name"] for c in found["configurations"]] == ["original, for even", "general", "one element", "past the end"]
    assert found["oracle"] == "the original kernel"
    checks = {(c["configuration"], c["workload"], c["seed"]): c for c in found["checks"]}
    assert len(checks) == len(found["checks"]) == 4 * 2 * 2
    for seed in (1001, 1002):
        for name, workload in (("original, for even", "odd"), ("general", "even"), ("general", "odd"), ("past the end", "even")):
            assert checks[name, workload, seed]["outcome"] == "passed", checks[name, workload, seed]
            assert checks[name, workload, seed]["max_error"] == 0.0
        wrong = checks["one element", "odd", seed]
        assert (wrong["outcome"], wrong["kind"], wrong["argument"], wrong["element"]) == ("failed", "heldout", "y", [17])
        assert float(wrong["found"]) == pytest.approx(1.5 * float(wrong["expected"]))
        assert "1 of 100 elements differ" in wrong["reason"]
        past = checks["past the end", "odd", seed]
        assert past["outcome"] == "failed"
        assert past["argument"] == "y"
        assert past["reason"]
    values = [checks["one element", "odd", seed]["expected"] for seed in (1001, 1002)]
    assert values[0] != values[1], "every seed has inputs of its own"
    assert found["passed"] is False
    assert found["counts"] == {"passed": 10, "failed": 6, "skipped": 0}


def test_adversarial_workloads_count_where_constraints_and_the_original_allow_them(kernel):
    # The original does not follow where inputs are large, nor on the workload 'even'.
    reference = "def k(x, n):\n    return {'y': 2.0 * x + (abs(x).max() > 50 or n == 256)}\n"
    odd, large = Workload("odd-1", {"n": 1001}, heldout=True), Workload("large", {"n": 64}, heldout=True, scale=100.0)
    found = found_of(kernel(reference), {1: "general", 2: "one element"}, adversaries=(odd, large))
    checks = {(c["configuration"], c["workload"]): c for c in found["checks"] if c["kind"] == "adversarial"}
    assert found["oracle"] == "the NumPy reference"
    assert checks["original", "odd-1"]["outcome"] == "passed"
    assert checks["general", "odd-1"]["outcome"] == "skipped"
    assert "constraint" in checks["general", "odd-1"]["reason"]
    assert checks["one element", "odd-1"]["outcome"] == "failed"
    assert {checks[name, "large"]["outcome"] for name in ("original", "general", "one element")} == {"skipped"}
    assert "the original is wrong on these inputs" in checks["original", "large"]["reason"]
    declared = {(c["configuration"], c["workload"]): c["outcome"] for c in found["checks"] if c["kind"] != "adversarial"}
    assert declared["original", "even"] == declared["general", "even"] == "failed", "with a reference nobody else is the oracle"
    assert declared["original", "odd"] == declared["general", "odd"] == "passed"


def test_nobody_knows_seeds_before_unless_they_were_asked_for(monkeypatch):
    assert len({*fresh_seeds(3), *fresh_seeds(3)}) == 6
    monkeypatch.setenv("WARPSMITH_INPUT_SEED", "1001")
    assert fresh_seeds(3) == fresh_seeds(3)
    assert fresh_seeds(2)[0] == 1001
    monkeypatch.setenv("WARPSMITH_INPUT_SEED", "-1")
    with pytest.raises(InputError, match="WARPSMITH_INPUT_SEED='-1' is not a seed"):
        fresh_seeds(1)


def test_races_fail_though_every_output_is_right(kernel, monkeypatch):
    monkeypatch.setenv("WARPSMITH_RACECHECK", "on")
    found = found_of(kernel(), {4: "general"})
    assert {check["outcome"] for check in found["checks"]} == {"passed"}
    assert [(race["configuration"], race["outcome"]) for race in found["races"]] == [
        ("original", "passed"),
        ("general", "failed"),
    ]
    assert "shared memory 'row': thread" in found["races"][1]["reason"]
    assert found["passed"] is False
    shown = render_verification({"kernel": "k", "folder": None, "run": "r", **found})
    assert shown.count("  racecheck, memcheck, initcheck: nothing found") == 1
    assert "  racecheck: FAILED: shared memory 'row'" in shown
    assert "  memcheck, initcheck: nothing found" in shown
    assert "1 failed: 4 passed" in shown


def test_what_never_ends_is_not_watched():
    """Watched, each launch would take until its deadline, far longer than the first one did."""
    subject = VerifiedSubject("original", Configuration.of({}), None, Configuration.of({}), frozenset({"w"}))
    workload = Workload("w", {"n": 1})
    verifying = object.__new__(_Verifying)
    verifying._workloads, verifying._hanging = [(workload, SubjectKind.TUNING)], set()
    verifying._check(subject, workload, SubjectKind.TUNING, 1, TimedOut("did not finish within 10 s", 10.0))
    reports = verifying._reports(subject, 1)
    assert {report.failure for report in reports.values()} == {"every launch timed out"}
