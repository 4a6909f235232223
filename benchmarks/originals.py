"""From the plain original against the template written by hand: every bundled kernel (or those named in KERNELS), rules agent.

Both are searched with the same budget (EVALUATIONS, default 60), then the two winners are measured in turns, in the same
processes. Five minutes a kernel on an idle machine with two cores; one that was stopped goes on when it is started again.
"""

from __future__ import annotations

import os

from warpsmith import api
from warpsmith.core.fingerprint import fingerprint
from warpsmith.settings import read_settings
from warpsmith.spec.bundled import bundled_names
from warpsmith.tuning.agent.agents import NO_AGENT, RULES
from warpsmith.tuning.comparison.figures import Final
from warpsmith.tuning.comparison.run import race
from warpsmith.tuning.order import Order, kernel_fingerprint


def main() -> None:
    evaluations, seed = int(os.environ.get("EVALUATIONS", "60")), int(os.environ.get("SEED", "0"))
    print("| kernel | from the original | 95 % interval | held out | by hand | 95 % interval | held out | other programs |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in os.environ.get("KERNELS", "").split() or bundled_names():
        kernel = api.load_kernel(name)
        like = fingerprint(kernel_fingerprint(kernel), evaluations)[:8]
        orders = [
            Order(kernel, budget=api.Budget(evaluations), seed=seed, agent=agent, comparison=f"originals-{name}-{agent}-{like}")
            for agent in (RULES, NO_AGENT)
        ]
        (refactored, by_hand), others = race(orders, read_settings(), lambda _: None)
        heldout = [workload.name for workload in kernel.workloads if workload.heldout]
        cells = (name, *_cells(refactored, heldout), *_cells(by_hand, heldout), f"{others or 0:.0%}")
        print("| " + " | ".join(cells) + " |", flush=True)


def _cells(final: Final, heldout: list[str]) -> tuple[str, str, str]:
    speedup = final.speedup
    held = ", ".join(f"{final.workloads[name]:.1f}×" for name in heldout)
    return f"{speedup.value:.2f}×", f"{speedup.low:.2f} – {speedup.high:.2f}", held
