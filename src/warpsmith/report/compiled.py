"""Text about a configuration's compiled resources on a target: from entries as `analyze --json` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpsmith.record.result import CompiledTarget, Figures, RunResult
from warpsmith.report.wording import fraction_text

_LIMITERS = {"shared memory": "shared"}


def compiled_cells(entry: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    """Registers, spilled, shared, widest load, occupancy, limited by; for one that cannot run there, why."""
    if entry["reason"] is not None:
        return ("-", "-", "-", "-", entry["outcome"], entry["reason"])
    return (
        _number(entry["registers"]),
        _number(entry["spill_bytes"], " B"),
        _number(entry["shared_bytes"], " B"),
        _number(entry["load_bytes"], " B"),
        fraction_text(entry["occupancy"]),
        _LIMITERS.get(entry["limiter"], entry["limiter"]) or "-",
    )


def compiled_rows(target: CompiledTarget, result: RunResult) -> list[tuple[str, Mapping[str, Any]]]:
    """Of a run that compiled for a target too: the original and the winners, by whose configuration it is."""
    claims: dict[str, Figures] = {"general": result.general, **result.per_workload}

    def whose(entry: Mapping[str, Any]) -> str:
        return next((name for name, claim in claims.items() if claim.config == entry["config"]), "")

    return [("the original", target.original), *((whose(entry), entry) for entry in target.configurations)]


def _number(value: int | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,}{unit}"
