"""A templated kernel on the CPU device: are its configurations right, and does a search gain?

A kernel whose kernel.toml was guessed may not run at all: indices out of nowhere lead out of its buffers. That is an answer, too.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.refactoring import examined
from warpsmith import api
from warpsmith.core.errors import WarpsmithError
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.agents import RULES


def verified(folder: Path) -> tuple[str, str]:
    try:
        with tempfile.TemporaryDirectory() as binaries:
            tried = int(os.environ.get("TRIED", "12"))
            row = examined(load_kernel(folder), tried, np.random.default_rng(0), Path(binaries))
    except WarpsmithError as error:
        return "the original does not run", error.message.splitlines()[0]
    if not row.failed:
        return "right", f"{row.parameters} parameters, {row.tried} configurations"
    return "wrong", f"{len(row.failed)} of {row.tried}: {row.failed[0]}"


def tuned(folder: Path) -> tuple[str, str]:
    evaluations = int(os.environ.get("EVALUATIONS", "24"))
    try:
        result = api.tune(api.load_kernel(folder), budget=api.Budget(evaluations), agent=RULES)
    except WarpsmithError as error:
        return "not tuned", error.message.splitlines()[0]
    if result["template"] is None:
        return "no pass applies", ""
    general = result["general"]
    low, high = general["ci95"]
    words = f"{general['speedup']:.2f}× [{low:.2f}, {high:.2f}], {len(result['template']['parameters'])} parameters"
    return ("gain" if low > 1 else "no significant gain"), words
