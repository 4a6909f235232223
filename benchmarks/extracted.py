"""Tunes kernels extracted from SGLang's wheel from their untouched originals on the CPU device: all of `extraction_kernels` that
have a reference, or those named in KERNELS; rules agent, EVALUATIONS each (default 24).

The sizes are those that the references are checked with, not those of production. About a minute and a half a kernel on an idle
machine with two cores.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.downloads import unpacked
from benchmarks.extraction_kernels.catalogue import Entry, catalogue
from benchmarks.extraction_kernels.running import placed
from warpsmith import api
from warpsmith.core.errors import WarpsmithError
from warpsmith.tuning.agent.agents import RULES


def main() -> None:
    evaluations = int(os.environ.get("EVALUATIONS", "24"))
    wanted = os.environ.get("KERNELS", "").split()
    entries = [e for e in catalogue()[0] if e.folder is not None and (not wanted or e.name in wanted)]
    print("| kernel | parameters | certificate | speedup | 95 % interval | held out |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for entry in entries:
            try:
                result = tuned(entry, Path(scratch) / entry.name, evaluations)
                cells = _cells(result)
            except WarpsmithError as error:
                cells = ("–", "–", error.message.splitlines()[0], "", "")
            print(f"| {entry.name} | {' | '.join(cells)} |", flush=True)


def tuned(entry: Entry, scratch: Path, evaluations: int) -> dict[str, Any]:
    package = unpacked(entry.code_base.requirement)
    kernel = api.load_kernel(placed(entry, package, scratch))
    return api.tune(kernel, budget=api.Budget(evaluations), agent=RULES)


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    template, general = result["template"], result["general"]
    if template is None:
        return "0", "no pass applies", "", "", ""
    held_out = ", ".join(f"{found['speedup']:.2f}×" for found in result["heldout"].values())
    low, high = general["ci95"]
    certificate = template["certificate"]["level"]
    return str(len(template["parameters"])), certificate, f"{general['speedup']:.2f}×", f"{low:.2f} – {high:.2f}", held_out
