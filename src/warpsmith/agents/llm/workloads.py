"""From a tester's reply to `Workload`s. `tuning.evaluation.adversaries` decides whether the original is right on them."""

from __future__ import annotations

import math

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import TestsReply, WorkloadReply
from warpsmith.core.file_names import as_file_name
from warpsmith.spec.kernel import Kernel, Workload

_LARGEST_SIZE = 1 << 31
_SCALES = (1e-6, 1e6)


def workloads_of(reply: TestsReply, kernel: Kernel) -> tuple[Workload, ...]:
    """Those that can be; a reply of which nothing can be used is a Problem, with the reason for each."""
    taken = {workload.name for workload in kernel.workloads}
    seen = {(tuple(sorted(workload.sizes.items())), 1.0) for workload in kernel.workloads}
    found: list[Workload] = []
    problems: list[str] = []
    for entry in reply.workloads:
        problem = _problem(entry, kernel)
        shape = (tuple(sorted(entry.sizes.items())), entry.scale)
        if problem is not None:
            problems.append(f"{entry.name}: {problem}")
        elif shape not in seen:
            seen.add(shape)
            found.append(Workload(_free_name(entry.name, taken), dict(entry.sizes), heldout=True, scale=entry.scale))
            taken.add(found[-1].name)
    if problems and not found:
        raise Problem("none of these workloads can be used:\n" + "\n".join(problems))
    return tuple(found)


def _problem(entry: WorkloadReply, kernel: Kernel) -> str | None:
    known = kernel.workloads[0].sizes.keys()
    if entry.sizes.keys() != known:
        return f"its sizes are {sorted(entry.sizes)}, and must be exactly {sorted(known)}"
    if not all(0 < value < _LARGEST_SIZE for value in entry.sizes.values()):
        return f"sizes must be from 1 to {_LARGEST_SIZE - 1:,}; found {entry.sizes}"
    low, high = _SCALES
    if not math.isfinite(entry.scale) or not low <= entry.scale <= high:
        return f"its scale is {entry.scale:g}, and must be from {low:g} to {high:g}"
    return None


def _free_name(wanted: str, taken: set[str]) -> str:
    base = as_file_name(wanted, "shape")[:40]
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name
