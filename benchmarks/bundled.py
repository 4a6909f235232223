"""Tunes every bundled kernel (or those named in KERNELS) with the defaults and prints one Markdown row for each.

About a minute and a half a kernel; `python -m benchmarks bundled > table.md`.
"""

from __future__ import annotations

import os
from typing import Any

import warpsmith
from warpsmith.spec.bundled import bundled_names


def main() -> None:
    print("| kernel | baseline | general | speedup | 95 % interval | of roofline | held out | evaluations |")
    print("|---|---|---|---|---|---|---|---|")
    for name in os.environ.get("KERNELS", "").split() or bundled_names():
        print(row(warpsmith.tune(warpsmith.load_kernel(name))), flush=True)


def row(result: dict[str, Any]) -> str:
    baseline, general = result["baseline"], result["general"]
    low, high = general["ci95"]
    heldout = ", ".join(f"{entry['speedup']:.1f}×" for entry in result["heldout"].values())
    cells = (
        result["kernel"],
        f"{baseline['median_us'] / 1e3:.2f} ms",
        f"{general['median_us'] / 1e3:.2f} ms",
        f"{general['speedup']:.2f}×",
        f"{low:.2f} – {high:.2f}",
        f"{general['roofline_fraction']:.0%}" if general["roofline_fraction"] is not None else "–",
        heldout,
        sum(result["evaluations"].values()),
    )
    return "| " + " | ".join(map(str, cells)) + " |"
