"""Differences between two runs: kernel, settings, results, and whether their claims differ significantly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.measure.statistics import Ratio
from warpsmith.record.result import Claim, Figures, RunResult, UnfinishedRun
from warpsmith.record.run import RunRecord

_SETTINGS = ("evaluations", "seconds", "rounds", "mode", "also_compile", "proved_only", "more_devices")


def differences(
    first: tuple[RunRecord, RunResult | UnfinishedRun], second: tuple[RunRecord, RunResult | UnfinishedRun]
) -> dict[str, Any]:
    """Of two runs with their results. Raises InputError for one without."""
    a, before = _finished(*first)
    b, after = _finished(*second)
    facts = _facts(a, before), _facts(b, after)
    claims = [_claim("all tuning workloads", before.general, after.general, before.baseline, after.baseline)]
    for workload in _common(_workloads(before), _workloads(after)):
        entries = [overall.workloads[workload] for overall in (before.general, after.general, before.baseline, after.baseline)]
        claims.append(_claim(workload, *entries))
    claims += [
        _claim(f"{workload} (held out)", before.heldout[workload], after.heldout[workload])
        for workload in _common(before.heldout, after.heldout)
    ]
    old, new = before.general.config, after.general.config
    missing = set(_workloads(before)) ^ set(_workloads(after))
    return {
        "runs": [a.run, b.run],
        "changed": {name: [facts[0].get(name), facts[1].get(name)] for name in facts[0] | facts[1] if _differs(name, facts)},
        "configuration": {
            name: [old.get(name), new.get(name)] for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)
        },
        "claims": claims,
        "only_in_one": sorted(missing),
        "comparable": a.header.kernel == b.header.kernel,
    }


def _finished(record: RunRecord, result: RunResult | UnfinishedRun) -> tuple[RunRecord, RunResult]:
    if not isinstance(result, RunResult):
        hint = f"`warpsmith resume {record.run}` finishes it"
        raise InputError(f"run {record.run} is {record.status}: it has no result to compare", hint=hint)
    return record, result


def _facts(record: RunRecord, result: RunResult) -> dict[str, Any]:
    header, info = record.header, record.header.device_info
    return {
        "kernel": header.kernel,
        "kernel's files": header.fingerprint,
        "device": header.device,
        "description": info.get("description"),
        **{f"version of {name}": version for name, version in info.get("versions", {}).items()},
        "agent": header.agent,
        "strategy": header.strategy,
        "seed": header.seed,
        **{name: header.settings.get(name) for name in _SETTINGS},
        "evaluated": sum(result.evaluations.values()),
        "CPU share of other programs": result.evidence.others_share,
        "processes": result.evidence.processes,
    }


def _differs(name: str, facts: tuple[dict[str, Any], dict[str, Any]]) -> bool:
    first, second = (found.get(name) for found in facts)
    return bool(first != second)


def _workloads(result: RunResult) -> Mapping[str, Claim]:
    """Those that both the winner and the original have figures of; results of early versions had none."""
    return {name: claim for name, claim in result.general.workloads.items() if name in result.baseline.workloads}


def _common(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in first if name in second]


def _claim(
    name: str, old: Figures, new: Figures, old_original: Figures | None = None, new_original: Figures | None = None
) -> dict[str, Any]:
    """`ratio` is the second speedup over the first. The runs were measured separately, so their errors add up."""
    first, second = (Ratio(figures.speedup, *figures.ci95) for figures in (old, new))
    ratio = second.times(first.inverse) if first.low > 0 else Ratio(second.value / first.value, 0.0, math.inf)
    return {
        "workload": name,
        "speedup": [old.speedup, new.speedup],
        "ci95": [list(old.ci95), list(new.ci95)],
        "median_us": [old.median_us, new.median_us],
        "baseline_us": [_original_us(old, old_original), _original_us(new, new_original)],
        "ratio": round(ratio.value, 4),
        "ratio_ci95": [round(ratio.low, 4), round(ratio.high, 4)],
        "differs": "faster" if ratio.low > 1 else "slower" if ratio.high < 1 else None,
    }


def _original_us(figures: Figures, original: Figures | None) -> float | None:
    """Held-out workloads have it beside their own; results of early versions did not."""
    if original is not None:
        return original.median_us
    return figures.baseline_us if isinstance(figures, Claim) else None
