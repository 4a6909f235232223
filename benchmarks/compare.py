"""Direct rewriting against template + search on the paper's three kernels (or those named in KERNELS), rules agent.

Ten seeds, 25 evaluations a run (SEEDS, EVALUATIONS): about twelve minutes a kernel on an idle machine with two cores. Pages,
plots and JSON go to OUTPUT (default: compared/). A comparison that was stopped goes on when it is started again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from warpsmith import api
from warpsmith.tuning.comparison.run import Step

KERNELS = ("silu_and_mul", "fused_add_rmsnorm", "merge_attn_states_lse")


def main() -> None:
    seeds, evaluations = int(os.environ.get("SEEDS", "10")), int(os.environ.get("EVALUATIONS", "25"))
    output = Path(os.environ.get("OUTPUT", "compared"))
    rows = []
    for name in os.environ.get("KERNELS", "").split() or KERNELS:
        found = api.compare(
            api.load_kernel(name), seeds=seeds, budget=api.Budget(evaluations), output=output / name, progress=_said()
        )
        rows += [row(found, "template", "template + search"), row(found, "direct", "direct rewriting")]
    print("| kernel | | median speedup | 95 % interval | spread | worst – best | below 1 | failed evaluations | pairs won |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))


def row(found: dict[str, Any], mode: str, words: str) -> str:
    side, won = found[mode], found["wins"]
    cells = (
        found["kernel"],
        words,
        f"{side['median_speedup']:.2f}×",
        f"{side['ci95'][0]:.2f} – {side['ci95'][1]:.2f}",
        f"{side['spread']:.1%}",
        f"{side['worst']:.2f} – {side['best']:.2f}×",
        side["regressions"],
        side["failures"],
        f"{won[mode]} of {won['pairs']}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _said() -> Any:
    last = ""

    def say(step: Step) -> None:
        nonlocal last
        if step.what != last:
            print(f"{step.done}/{step.of} {step.what}", flush=True)
        last = step.what

    return say
