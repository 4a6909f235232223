"""T4: the outcome of every configuration. Owns the file's fields and Kernel Tuner's failure names.

The counterpart of `record.foreign.t4`, which reads such files. Times are in milliseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, assert_never

from warpsmith.core.outcome import (
    CompileFailed,
    Crashed,
    Evaluation,
    Infeasible,
    LaunchFailed,
    Measured,
    Outcome,
    TimedOut,
    WrongResult,
)
from warpsmith.export.base import Shipment
from warpsmith.export.kernel_tuner.t1 import written_value
from warpsmith.spec.kernel import Workload

_SCHEMA_VERSION = "1.0.0"


def t4_document(shipment: Shipment, workload: Workload) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "metadata": {
            "timeunit": "milliseconds",
            "kernel_name": shipment.kernel.name,
            "device_name": str(shipment.provenance["device_description"]),
            "workload": {"name": workload.name, **workload.sizes},
            "run": shipment.run,
        },
        "results": [_result(evaluation, workload) for evaluation in shipment.evaluations],
    }


def _result(evaluation: Evaluation, workload: Workload) -> dict[str, Any]:
    outcome = evaluation.outcome
    started = datetime.fromtimestamp(evaluation.started_at, UTC)
    return {
        "timestamp": str(started),
        "configuration": {name: written_value(value) for name, value in evaluation.configuration.pairs},
        "objectives": ["time"],
        "times": _times(evaluation),
        "invalidity": _invalidity(outcome),
        "correctness": 1 if isinstance(outcome, Measured) else 0,
        "measurements": _measurements(outcome, workload) if isinstance(outcome, Measured) else [],
        **({} if isinstance(outcome, Measured) else {"reason": outcome.reason}),
    }


def _times(evaluation: Evaluation) -> dict[str, Any]:
    """The record has what a configuration took as a whole: it stands where most of that time goes."""
    took_ms = evaluation.seconds * 1e3
    compiling = isinstance(evaluation.outcome, CompileFailed)
    return {
        "compilation": took_ms if compiling else 0.0,
        "benchmark": 0.0 if compiling else took_ms,
        "framework": 0.0,
        "search_algorithm": 0.0,
        "validation": 0.0,
        "runtimes": [],  # single launches are not kept
    }


def _measurements(outcome: Measured, workload: Workload) -> list[dict[str, Any]]:
    time = next(t for t in outcome.times if t.workload == workload.name)
    return [
        {"name": "time", "value": time.median_us / 1e3, "unit": "ms"},
        # From launches beside the best so far, so steadier than the time; the original has 1.
        {"name": "relative_time", "value": time.relative, "unit": ""},
        {"name": "score", "value": outcome.score, "unit": ""},
    ]


def _invalidity(outcome: Outcome) -> str:
    match outcome:
        case Measured():
            return "correct"
        case Infeasible():
            return "constraints"
        case CompileFailed():
            return "compile"
        case LaunchFailed() | Crashed():
            return "runtime"
        case WrongResult():
            return "correctness"
        case TimedOut():
            return "timeout"
        case _ as never:
            assert_never(never)
