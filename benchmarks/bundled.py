"""Tunes every bundled kernel (or those named in KERNELS) from its untouched original and prints one Markdown row for each.

EVALUATIONS (default 60), SEED; with AGENT=none it searches the templates written by hand. Two minutes a kernel.
"""

from __future__ import annotations

import os
from typing import Any

import warpsmith
from warpsmith.spec.bundled import bundled_names
from warpsmith.tuning.agent.agents import RULES


def main() -> None:
    print("| kernel | baseline | general | speedup | 95 % interval | of roofline | held out | evaluations |")
    print("|---|---|---|---|---|---|---|---|")
    evaluations, seed = int(os.environ.get("EVALUATIONS", "60")), int(os.environ.get("SEED", "0"))
    agent = os.environ.get("AGENT", RULES)
    for name in os.environ.get("KERNELS", "").split() or bundled_names():
        result = warpsmith.tune(warpsmith.load_kernel(name), agent=agent, budget=warpsmith.Budget(evaluations), seed=seed)
        print(row(result), flush=True)


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
