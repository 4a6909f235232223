"""Whether a candidate is still right after many launches: one that was verified may count them, or wear its memory out."""

from __future__ import annotations

from collections.abc import Iterable

from warpsmith.measure.bench import Bench, Candidate
from warpsmith.verify.prepared import PreparedWorkload

_LAUNCHES = 30


def lasts(bench: Bench, candidate: Candidate, workloads: Iterable[PreparedWorkload]) -> bool:
    """On fresh memory. The bench should be, too: what another one did to its process would count against this one."""
    for workload in workloads:
        workload.arena.reset()
        times = bench.time(workload.name, [candidate] * _LAUNCHES)
        if not isinstance(times, list) or not workload.verdict_after_launch().passed:
            return False
    return True
