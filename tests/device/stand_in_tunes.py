"""Run by `test_stand_in.py` in a process that sees the stand-in: every bundled kernel tuned there, on small workloads and briefly."""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

from warpsmith.core.hardware import Language
from warpsmith.settings import read_settings
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.order import Order

# In the place of the declared ones, where those are too large to be interpreted in the time that a test has.
SMALLEST = {"n": 40_000, "rows": 7, "cols": 1000, "tokens": 7, "d": 1024, "k": 64, "m": 64}


def small(kernel: Kernel) -> Kernel:
    """Its smallest held-out workload to be tuned, and no other."""
    first = min(kernel.heldout_workloads, key=lambda w: sum(w.sizes.values()))
    sizes = {name: min(size, SMALLEST.get(name, size)) for name, size in first.sizes.items()}
    return replace(kernel, workloads=(replace(first, name="small", sizes=sizes, heldout=False),))


def tuned(kernel: Kernel, device: str) -> dict[str, object]:
    began, before = time.perf_counter(), _cpu_s()
    order = Order(kernel, device=device, budget=Budget(evaluations=2), agent="none")
    result = tuning_run.start(order, read_settings(), lambda _event: None).as_json()
    return {
        "measured": result["evaluations"]["Measured"],
        "verified": result["general"]["verified"],
        "roofline": result["general"]["roofline_fraction"],
        "s": round(time.perf_counter() - began, 1),
        "cpu_s": round(_cpu_s() - before, 1),
    }


def _cpu_s() -> float:
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


if __name__ == "__main__":
    device, *asked = sys.argv[1:]
    names = asked or [name for name in bundled_names() if load_kernel(name).language is not Language.OPENCL]
    for name in names:
        print(json.dumps({"kernel": name, **tuned(small(load_kernel(name)), device)}), flush=True)  # noqa: T201
    assert "libcuda" not in Path("/proc/self/maps").read_text(), "the driver is for workers: this process stands for the tuner"
