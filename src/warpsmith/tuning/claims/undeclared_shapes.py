"""Runs the winners on undeclared shapes, drawn after everything has been chosen.

Where an author wrote the template for himself, it is not ruled out where it is wrong there: he may run the declared shapes only,
and choices that hold for these alone (a tile that divides them) are often the fast ones. But whoever takes it for the kernel that
he had must be told. What agents and passes make was held to such shapes in the search
(`tuning.evaluation.adversaries`); who was told of those could make it right on them alone, so it must be right on these, too, or
lose its place (`claims.claimant`).
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.record.result import ShapeEntry
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.evaluation.adversaries import MOST, Adversaries
from warpsmith.tuning.evaluation.odd_shapes import larger_shapes, odd_shapes, odd_values
from warpsmith.tuning.evaluation.round import Round


def on_odd_shapes(
    searched: Round, configuration: Configuration, *, device: str, seed: int, rng: np.random.Generator
) -> list[ShapeEntry]:
    """Of the run's evidence: an entry for each shape that the original is right on and the constraints allow."""
    larger = larger_shapes(searched.kernel, rng)
    beyond = [workload for workload in larger if workload.name.endswith("-1")]  # a kernel may need multiples; most do not
    odd = [workload for workload in odd_shapes(searched.kernel, rng) if workload.scale == 1.0]
    shapes = (*beyond, *odd, *(w for w in larger if w not in beyond), *odd_values(searched.kernel, rng))
    with ExitStack() as stack:
        offered = Adversaries(shapes, (), searched.builder, seed, stack)
        if not offered.ready:
            return []
        bench = stack.enter_context(Bench(device, list(offered.ready.values())))
        names = searched.builder.binder.names
        settled = sorted(offered.settle(bench, max(MOST, len(beyond) + 1)), key=lambda workload: workload.has_odd_values)
        kept = [w for w in settled if searched.space.allows(names(configuration, w))]
        return [_entry(w, _problem(searched, configuration, w, bench)) for w in kept]


def _problem(searched: Round, configuration: Configuration, workload: Workload, bench: Bench) -> str | None:
    candidate = searched.builder.build(configuration, [workload])
    if not isinstance(candidate, Candidate):
        return candidate.reason
    verdict = bench.verify(candidate, workload.name)
    if not isinstance(verdict, Verdict):
        return verdict.reason
    failure = verdict.failure
    return f"{failure.argument}: {failure.problem}" if failure is not None else None


def _entry(workload: Workload, problem: str | None) -> ShapeEntry:
    odd = "inputs with few significant elements" if workload.is_sparse else "scalars that differ from kernel.toml's"
    reason = f"with {odd}, {problem}" if problem and workload.has_odd_values else problem
    return ShapeEntry(workload=workload.name, sizes=dict(workload.sizes), passed=problem is None, reason=reason)
