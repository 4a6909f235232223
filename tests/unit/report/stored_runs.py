"""What a run of a small kernel leaves behind: its files, its evaluations, its result. `conftest.py` puts them on record."""

from __future__ import annotations

from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
    Crashed,
    Evaluation,
    Measured,
    Outcome,
    Verdict,
    WorkloadTime,
    WrongResult,
)

HOSTILE = "<script>alert('w')</script>"
TOML = f"""\
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[template]
source = "k.template.cu"
[arguments]
y = {{ dtype = "f32", shape = ["n"], role = "out" }}
n = {{ dtype = "i32", value = "n" }}
[launch]
grid = ["ceildiv(n, BLOCK * ITEMS)"]
block = ["BLOCK"]
[workloads]
a = {{ n = 64, weight = 2 }}
"{HOSTILE}" = {{ n = 128 }}
odd = {{ n = 96, heldout = true }}
[parameters]
BLOCK = {{ values = [32, 64, 128, 256], default = 32 }}   # threads of a block; "#" & <b>
ITEMS = {{ values = [1, 2, 4], default = 1 }}
FAST = {{ values = [0, 1], default = 0 }}
[[constraints]]
expr = "BLOCK * ITEMS <= 512"
reason = "no more than <512> elements"
"""
SOURCE = "__global__ void k(float* y, int n) { if (0 < n && n > 1) y[threadIdx.x] = 1; }\n"
TEMPLATE = """\
#ifndef BLOCK
#define BLOCK 32
#endif
#ifndef ITEMS   // elements of a thread
#define ITEMS 1 // one after the other
#endif
// FAST: whether it is fast
#ifndef FAST
#define FAST 0
#endif
__global__ void k(float* y, int n) { if (0 < n && n > 1) y[threadIdx.x * ITEMS + FAST] = 1; }
"""
LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 2)
GOOD = Verdict((ArgumentCheck("a", "y", True, 1e-7),))
BAD = Verdict((ArgumentCheck("a", "y", False, 1.0, (2,), "nan", "1", "NaN where 1 was expected <img src=x onerror=alert(1)>"),))


def measured(score: float) -> Measured:
    return Measured(GOOD, (WorkloadTime("a", 1500 * score, score, (score, score), 9),), score)


def evaluated(number: int, outcome: Outcome, **values: int) -> Evaluation:
    return Evaluation(Configuration.of({"BLOCK": 32, "ITEMS": 1, "FAST": 0} | values), outcome, 0.5, 1000.0 + number)


def searched() -> list[Evaluation]:
    """The original first; 18 with a time, one failure of each of three kinds."""
    found = [
        evaluated(10 * block + items + fast, measured((32 / block) ** 0.5 * (1.2 - items / 8) * (1 + fast / 10)), **values)
        for block in (32, 64, 128)
        for items in (1, 2, 4)
        for fast in (0, 1)
        if (values := {"BLOCK": block, "ITEMS": items, "FAST": fast})
    ]
    found[0] = evaluated(0, measured(1.0))
    failed = [
        evaluated(5000, CompileFailed("error: <script>alert('c')</script>\nmore of it", "log & log"), BLOCK=256),
        evaluated(5001, WrongResult(BAD), BLOCK=256, ITEMS=2),
        evaluated(5002, Crashed("killed by SIGSEGV"), BLOCK=256, FAST=1),
    ]
    return found + failed


def claim(speedup: float, low: float, high: float, *, verified: bool = True, **values: int) -> dict[str, Any]:
    return {
        "config": {"BLOCK": 32, "ITEMS": 1, "FAST": 0} | values,
        "median_us": round(1500 / speedup, 3),
        "speedup": speedup,
        "ci95": [low, high],
        "roofline_fraction": 0.42,
        "verified": verified,
        "max_error": 1e-7,
    }


def overall(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "workloads": {"a": entry, HOSTILE: entry}}


ORIGINAL = claim(1.0, 1.0, 1.0)


def finished(general: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "run": "k-1",
        "status": "finished",
        "kernel": "k",
        "device": "cpu",
        "agent": "none",
        "strategy": "gp",
        "seed": 3,
        "rounds": 1,
        "evaluations": {"Measured": 18, "CompileFailed": 1, "WrongResult": 1, "Crashed": 1},
        "seconds": 12.5,
        "baseline": overall(ORIGINAL),
        "general": overall(general),
        "per_workload": {"a": general, HOSTILE: general},
        "heldout": {"odd": {**general, "baseline_us": 77.0}},
        "roofline": {"roof_us": {}, "how": "probes"},
        "evidence": {
            "processes": 5,
            "process_spread": 1.03,
            "others_share": 0.1,
            "oracle": "the NumPy reference",
            "cache": "warm",
        },
        "template": {"path": "k.template.cu", "parameters": {}, "certificate": {"level": "tokens", "detail": "same tokens"}},
        "stored_in": "runs.sqlite",
        **changes,
    }
