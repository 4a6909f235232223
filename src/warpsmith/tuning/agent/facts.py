"""The measured facts that every agent receives, for planning rounds or rewriting the kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.planning import Facts

_FAILURES_TOLD = 12  # the latest, with their reasons


@dataclass(frozen=True, slots=True)
class Roofs:
    """By workload: the least time of a launch that moves all arguments, and its bound, memory or arithmetic."""

    us: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, str] = field(default_factory=dict)


def measured_facts(kernel: Kernel, info: DeviceInfo, baseline: Evaluation, known: Sequence[Evaluation], roofs: Roofs) -> Facts:
    """`known` are all evaluations so far; one of them at least, the baseline, was measured."""
    original = baseline.outcome
    assert isinstance(original, Measured)
    best, outcome = min(((e, e.outcome) for e in known if isinstance(e.outcome, Measured)), key=lambda pair: pair[1].score)
    failed = [e for e in known if not isinstance(e.outcome, Measured)]
    return Facts(
        kernel=kernel,
        limits=info.limits,
        baseline=original.resources,
        best=outcome.resources,
        roofline_fraction={t.workload: roofs.us[t.workload] / t.median_us for t in outcome.times if t.workload in roofs.us},
        roof_us=roofs.us,
        bounds=roofs.bounds,
        best_configuration=dict(best.configuration.pairs),
        failures=Counter(type(e.outcome).__name__ for e in failed),
        best_times_us={t.workload: t.median_us for t in outcome.times},
        baseline_times_us={t.workload: t.median_us for t in original.times},
        failed=tuple(failed[-_FAILURES_TOLD:]),
        device=info.description,
    )
