"""The least that a result has, for tests that are about some of its fields."""

from __future__ import annotations

from typing import Any

from warpsmith.record.result import RunResult, UnfinishedRun, read_result


def figures(speedup: float = 1.0, low: float | None = None, high: float | None = None, **more: Any) -> dict[str, Any]:
    interval = [speedup if low is None else low, speedup if high is None else high]
    return {"config": {}, "median_us": 10 / speedup, "speedup": speedup, "ci95": interval, "verified": True, **more}


def stored(**changes: Any) -> dict[str, Any]:
    """As a record keeps it."""
    return {
        "run": "r",
        "status": "finished",
        "kernel": "k",
        "device": "cpu",
        "agent": "none",
        "strategy": "gp",
        "seed": 0,
        "rounds": 1,
        "evaluations": {},
        "seconds": 1.0,
        "baseline": figures(),
        "general": figures(),
        "per_workload": {},
        "heldout": {},
        **changes,
    }


def typed(**changes: Any) -> RunResult | UnfinishedRun:
    return read_result(stored(**changes))
