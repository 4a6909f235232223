"""Kernel Tuner's cache file, used by its simulation mode and by resumed searches.

The counterpart of `record.foreign.kernel_tuner`, which reads such files. Times are in milliseconds.
"""

from __future__ import annotations

from typing import Any

from warpsmith.core.outcome import CompileFailed, Evaluation, Infeasible, Measured
from warpsmith.export.base import Shipment
from warpsmith.export.kernel_tuner.t1 import written_value
from warpsmith.spec.kernel import Workload


def cache_document(shipment: Shipment, workload: Workload) -> dict[str, Any]:
    kernel = shipment.kernel
    entries = (_entry(evaluation, workload) for evaluation in shipment.evaluations)
    return {
        "device_name": str(shipment.provenance["device_description"]),
        "kernel_name": kernel.template_entry or kernel.entry,
        "tune_params_keys": [parameter.name for parameter in kernel.parameters],
        "tune_params": {p.name: [written_value(value) for value in p.values] for p in kernel.parameters},
        "objective": "time",
        "cache": {",".join(str(entry[p.name]) for p in kernel.parameters): entry for entry in entries},
    }


def _entry(evaluation: Evaluation, workload: Workload) -> dict[str, Any]:
    outcome = evaluation.outcome
    took_ms = evaluation.seconds * 1e3
    compiling = isinstance(outcome, CompileFailed)
    return {
        **{name: written_value(value) for name, value in evaluation.configuration.pairs},
        **(_times(outcome, workload) if isinstance(outcome, Measured) else {"__error__": _mark(outcome)}),
        # A run keeps one duration for each evaluation.
        "compile_time": took_ms if compiling else 0.0,
        "verification_time": 0.0,
        "benchmark_time": 0.0 if compiling else took_ms,
        "timestamp": evaluation.started_at,
    }


def _times(outcome: Measured, workload: Workload) -> dict[str, Any]:
    time = next(t for t in outcome.times if t.workload == workload.name).median_us / 1e3
    return {"time": time, "times": [time]}


def _mark(outcome: object) -> str:
    if isinstance(outcome, Infeasible):
        return "InvalidConfig"
    return "CompilationFailedConfig" if isinstance(outcome, CompileFailed) else "RuntimeFailedConfig"
