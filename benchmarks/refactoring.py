"""Is every configuration right that the passes' own constraints allow? Applies all passes to each bundled original, with no
device to correct them, and verifies a seeded sample of the space on the smallest workloads. What fails is a defect of a pass;
what passes only conjecture is left out. The default must be the original, token by token.

About a minute a kernel; KERNELS names a few, TRIED the configurations of each (default 24), SEED another sample.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.space.covering import covering_sample
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.templates.probes import Probe, laboratory


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one kernel; `failed` has a line for each configuration that was not right, the default among them."""

    kernel: str
    parameters: int
    forms: int
    feasible: int
    tried: int
    failed: tuple[str, ...]

    def __str__(self) -> str:
        wrong = len(self.failed)
        cells = (self.kernel, self.parameters, self.forms, f"{self.feasible:,}", self.tried, self.tried - wrong, wrong)
        return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    count, seed = int(os.environ.get("TRIED", "24")), int(os.environ.get("SEED", "0"))
    rows = []
    print("| kernel | parameters | forms | feasible | tried | right | failed |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in os.environ.get("KERNELS", "").split() or bundled_names():
            rows.append(examined(load_kernel(name), count, np.random.default_rng(seed), Path(folder)))
            print(rows[-1], flush=True)
    print(f"\n{sum(row.tried for row in rows)} configurations tried, {sum(len(row.failed) for row in rows)} failed")
    for row in rows:
        for failure in row.failed:
            print(f"{row.kernel}: {failure}")


def examined(kernel: Kernel, count: int, rng: np.random.Generator, binary_cache: Path) -> Row:
    with laboratory(kernel, "cpu", binary_cache=binary_cache) as lab:
        draft = apply_passes(Draft.of(kernel, lab.info.limits), load_passes()).proved()
        probe = Probe(combined(draft), lab)
        sample = covering_sample(probe.space, count, rng)
        failed = tuple(_failures(probe, sample))
    return Row(kernel.name, len(probe.space.parameters), len(draft.branches), probe.space.size, 1 + len(sample), failed)


def _failures(probe: Probe, sample: list[Configuration]) -> Iterator[str]:
    difference = probe.difference()
    if difference is not None:
        yield f"the default is not the original: {difference}"
    probe.prefetch(sample)
    for configuration in sample:
        problem = probe.problem(configuration)
        if problem is not None:
            yield f"{configuration}: {problem}"
