"""Resolves workload names of a command line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from warpsmith.core.errors import InputError
from warpsmith.spec.kernel import Kernel, Workload


def named_workloads(kernel: Kernel, names: Sequence[str]) -> tuple[Workload, ...]:
    """All tuned workloads if none is named. Raises InputError."""
    if not names:
        return kernel.tuning_workloads
    by_name = {workload.name: workload for workload in kernel.workloads}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(by_name)}"
            raise InputError(f"{kernel.name} has no workload {name!r}", hint=hint)
    return tuple(by_name[name] for name in dict.fromkeys(names))
