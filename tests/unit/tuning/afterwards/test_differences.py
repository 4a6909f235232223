"""What is said of two runs: facts that differ, and claims with intervals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.results import figures, stored, typed

from warpsmith.core.errors import InputError
from warpsmith.record.result import RunResult, UnfinishedRun, read_result
from warpsmith.record.run import RunHeader, RunRecord, Status
from warpsmith.tuning.afterwards.differences import differences


def _claim(speedup: float, half: float = 0.02, **more: Any) -> dict[str, Any]:
    return {**figures(speedup, speedup - half, speedup + half), "config": {"A": 1}, **more}


def _run(name: str, speedup: float, *, a: int = 1, **changes: Any) -> tuple[RunRecord, RunResult | UnfinishedRun]:
    fields = {
        "kernel": "k",
        "kernel_path": "k",
        "fingerprint": "f",
        "device": "cpu",
        "agent": "none",
        "strategy": "gp",
        "seed": 0,
    }
    header = RunHeader(**{**fields, **changes}, settings={"evaluations": 10}, device_info={"description": "a CPU"})  # type: ignore[arg-type]
    general = {**_claim(speedup), "config": {"A": a}, "workloads": {"w": _claim(speedup)}}
    result = {
        **stored(),
        "baseline": {**_claim(1.0, 0.0), "workloads": {"w": _claim(1.0, 0.0)}},
        "general": general,
        "heldout": {"h": _claim(speedup, 0.5, baseline_us=10.0)},
        "evaluations": {"Measured": 10},
        "evidence": {"others_share": 0.1, "processes": 5},
    }
    return RunRecord(name, header, 0.0, 1.0, Status.FINISHED, result), read_result(result)


def test_claims_are_compared_with_their_intervals():
    found = differences(_run("a", 2.0), _run("b", 1.8))
    whole, workload, heldout = found["claims"]
    assert whole["ratio"] == pytest.approx(0.9)
    assert whole["ratio_ci95"][0] < 0.9 < whole["ratio_ci95"][1] < 1
    assert (whole["differs"], workload["differs"]) == ("slower", "slower")
    assert heldout["differs"] is None, "its interval is wide"
    assert found["changed"] == {}
    assert found["configuration"] == {}


def test_what_differs_is_named():
    found = differences(_run("a", 2.0), _run("b", 2.0, a=4, device="cuda:0", seed=3))
    assert found["changed"] == {"device": ["cpu", "cuda:0"], "seed": [0, 3]}
    assert found["configuration"] == {"A": [1, 4]}
    assert all(claim["differs"] is None for claim in found["claims"])
    assert found["comparable"]
    assert not differences(_run("a", 2.0), _run("b", 2.0, kernel="other"))["comparable"]


def test_a_run_without_a_result_is_refused():
    record, _ = _run("b", 2.0)
    with pytest.raises(InputError, match="no result to compare"):
        differences(_run("a", 2.0), (record, typed(general=None)))
