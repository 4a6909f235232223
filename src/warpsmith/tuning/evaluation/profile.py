"""Reads a device's performance counters for a candidate: part of m = M(S, x; h) for analysts, and of a claim's evidence.

In a process of its own: with a profiler attached, nothing that is timed in the same process could be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Counters, NotCounted
from warpsmith.devices.base import counts
from warpsmith.devices.registry import load_device
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.tuning.events import Emit, Warned
from warpsmith.verify.prepared import PreparedWorkload


class Profiler:
    """Of one run. Where a device does not count, or does not permit it, there are no counters; the second is said once."""

    def __init__(self, name: str, workloads: Sequence[PreparedWorkload], emit: Emit) -> None:
        self._name = name
        self._workloads = tuple(workloads)
        self._emit = emit
        self._known: dict[str, dict[str, Counters]] = {}
        self.counts = counts(load_device(name))

    def of(self, candidate: Candidate) -> Mapping[str, Counters]:
        """By workload; launched where the candidate was built for it."""
        if candidate.identity not in self._known:
            self._known[candidate.identity] = self._counted(candidate) if self.counts else {}
        return self._known[candidate.identity]

    def _counted(self, candidate: Candidate) -> dict[str, Counters]:
        found: dict[str, Counters] = {}
        with Bench(self._name, self._workloads) as bench:
            for workload in (ready.name for ready in self._workloads if ready.name in candidate.binaries):
                try:
                    answer = bench.counters(candidate, workload)
                except UnavailableError as error:  # the search's own process may have taken what there is of the GPU
                    answer = NotCounted(error.message)
                if not isinstance(answer, Counters):
                    self.counts = False
                    self._emit(Warned(f"no counters: {answer.reason}"))
                    break
                found[workload] = answer
        return found
