"""The winner of a template that its user wrote, on shapes that nobody declared.

Such a configuration is not ruled out where it is wrong there: its author may run the declared shapes only, and choices that hold
for these alone (a tile that divides them) are often the fast ones. But whoever takes it for the kernel that he had must be told.
What agents and passes make is held to such shapes in the search already (`tuning.agent.adversaries`).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.adversaries import Adversaries
from warpsmith.tuning.agent.odd_shapes import odd_shapes
from warpsmith.tuning.round import Round


def on_odd_shapes(searched: Round, configuration: Configuration, *, device: str, seed: int) -> list[dict[str, Any]]:
    """Of the run's evidence: an entry for each shape that the original is right on and the constraints allow."""
    shapes = [workload for workload in odd_shapes(searched.kernel) if workload.scale == 1.0]
    with ExitStack() as stack:
        offered = Adversaries(shapes, (), searched.builder, seed, stack)
        if not offered.ready:
            return []
        bench = stack.enter_context(Bench(device, list(offered.ready.values())))
        names = searched.builder.binder.names
        kept = [w for w in offered.settle(bench) if searched.space.allows(names(configuration, w))]
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


def _entry(workload: Workload, problem: str | None) -> dict[str, Any]:
    return {"workload": workload.name, "sizes": dict(workload.sizes), "passed": problem is None, "reason": problem}
