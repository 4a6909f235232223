"""A batch as table rows, shared by terminal and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warpsmith.report.wording import fraction_text, interval_text, searched_text, speedup_text, time_text

BATCH_COLUMNS = ("kernel", "original", "tuned", "speedup", "95 % interval", "of roofline", "evaluations", "remark")


def batch_rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for entry in result["kernels"]:
        general, baseline = entry["general"], entry["baseline"]
        if general is None:
            figures = ("-",) * 5
        else:
            figures = (
                time_text(baseline["median_us"]),
                time_text(general["median_us"]),
                speedup_text(general["speedup"]),
                interval_text(general["ci95"]),
                fraction_text(general["roofline_fraction"]),
            )
        yield (entry["kernel"], *figures, str(entry["evaluations"]), _remark(entry))


def batch_notes(result: Mapping[str, Any]) -> list[str]:
    claimed = [entry for entry in result["kernels"] if entry["general"] is not None]
    faster = [entry for entry in claimed if entry["general"]["ci95"][0] > 1]
    spent = f"{result['evaluations']} evaluations, {result['seconds']:.0f} s of work"
    notes = [f"{len(faster)} of {len(result['kernels'])} kernels are significantly faster; {spent}."]
    if result["speedup"] is not None:
        notes.append(f"Geometric mean over the {len(claimed)} with a result: {speedup_text(result['speedup'])}.")
    for entry in result["kernels"]:
        if entry["error"] is not None:
            hint = f" (hint: {entry['error']['hint']})" if entry["error"]["hint"] else ""
            notes.append(f"{entry['kernel']}: {entry['error']['message']}{hint}")
    if result["status"] not in {"finished", "running"}:
        notes.append(f"It is {result['status']}; continue with: warpsmith resume {result['batch']}")
    return notes


def _remark(entry: Mapping[str, Any]) -> str:
    if entry["error"] is not None:
        return "failed"
    if entry["general"] is None:
        best = entry["best_so_far"]
        seen = f", {searched_text(best['speedup'], best.get('ci95'))} as searched" if best else ""
        return f"{entry['status']}{seen}"
    if entry["uncertain"] is not None:
        return f"no significant gain; {speedup_text(entry['uncertain']['speedup'])} is possible"
    return "" if entry["general"]["ci95"][0] > 1 else "no gain"
