"""The same tuned pair measured ten times in a row: do the intervals cover each other?

Noise is what this is about, so it runs on the machine as it is. Two intervals that do not overlap are a failure of the method.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from pathlib import Path

import numpy as np

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.measure.bench import Candidate
from warpsmith.measure.roofline import Roofline
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.claims import finalists
from warpsmith.tuning.claims.claimant import Claimant
from warpsmith.tuning.claims.interleaved import Speedups
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.events import ignore
from warpsmith.verify.prepared import PreparedWorkload

KERNEL = "silu_and_mul"
CHANGED = {"VEC_BYTES": 4}
TIMES = 10


def main() -> None:
    kernel = load_kernel(KERNEL)
    default = kernel.default_configuration
    tuned = Configuration.of({**default, **CHANGED})
    rng = np.random.default_rng(0)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        pool = stack.enter_context(CompilePool("cpu", cache_dir=Path(folder)))
        info = pool.describe()
        builder = Builder(Binder(kernel, info.limits), template_of(kernel), pool)
        prepared = {
            w.name: stack.enter_context(PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(default, w)))
            for w in kernel.tuning_workloads
        }
        built = {c: builder.build(c, kernel.tuning_workloads) for c in (default, tuned)}
        ready = {c: candidate for c, candidate in built.items() if isinstance(candidate, Candidate)}
        claimant = Claimant(builder, pool, info, prepared, device="cpu", rng=rng, emit=ignore)
        choice = finalists.Winners(tuned, {})
        weights = {w.name: w.weight for w in kernel.tuning_workloads}
        intervals = []
        for _ in range(TIMES):
            processes = claimant.measure_in_fresh_processes(choice, ready, Roofline({}))
            speedup = Speedups(processes, default, rng).over(weights, tuned)
            intervals.append((speedup.low, speedup.high))
            print(f"{KERNEL} {tuned}: {speedup.value:.3f}  [{speedup.low:.3f}, {speedup.high:.3f}]", flush=True)
    apart = [(a, b) for a, b in itertools.combinations(intervals, 2) if a[1] < b[0] or b[1] < a[0]]
    print(f"{len(apart)} of {TIMES * (TIMES - 1) // 2} pairs of intervals do not overlap")
