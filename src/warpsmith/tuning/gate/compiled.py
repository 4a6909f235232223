"""Compiler reports of a winner for target GPUs, without the hardware: a regression test without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpsmith.compile.binding import Binder
from warpsmith.compile.requests import Requests
from warpsmith.core.hardware import Limits
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.targets import CompileTarget
from warpsmith.tuning.gate.winners import Winner

KEPT = ("outcome", "registers", "spill_bytes", "stack_bytes", "shared_bytes", "occupancy")


def compiled(winner: Winner, target: CompileTarget) -> dict[str, Any]:
    """Of an export, its general file."""
    kernel = winner.builds[0].alone(winner.choices.kernel) if winner.builds else winner.kernel
    configuration = kernel.default_configuration if winner.builds else winner.configuration

    def requests(limits: Limits) -> Requests:
        return Requests(Binder(kernel, limits), template_of(kernel))

    entry = target.inspector(kernel, requests).report(configuration).entry()
    return {**{key: entry[key] for key in KEPT}, "reason": entry["reason"], "versions": dict(target.pool.describe().versions)}


def got_worse(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """More spilled, lower occupancy, or it cannot run any more. More registers alone cost nothing: they are told elsewhere."""
    if now["outcome"] != "compiled":
        return [f"{now['outcome']}: {now['reason']}"] if before["outcome"] == "compiled" else []
    found = []
    for key, words in (("spill_bytes", "bytes spilled"), ("stack_bytes", "bytes of stack")):
        if (now[key] or 0) > (before[key] or 0):
            found.append(f"{now[key]} {words} (accepted: {before[key] or 0})")
    if now["occupancy"] is not None and before["occupancy"] is not None and now["occupancy"] < before["occupancy"]:
        found.append(f"occupancy {now['occupancy']:.0%} (accepted: {before['occupancy']:.0%})")
    return found


def summary(now: Mapping[str, Any]) -> str:
    """In a few words, for those who read tables."""
    figures = {"registers": "registers", "spill_bytes": "B spilled", "shared_bytes": "B shared"}
    parts = [f"{now[key]} {words}" for key, words in figures.items() if now[key] is not None]
    parts += [f"occupancy {now['occupancy']:.0%}"] if now["occupancy"] is not None else []
    return ", ".join(parts) or str(now["outcome"])
