"""One measuring worker for the kernels of many tests: starting one takes longer than most of them run.

As in a run, it is replaced when a kernel crashes it or writes where it must not, so no test suffers for another one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

from warpsmith.measure.bench import Bench
from warpsmith.spec.kernel import Workload
from warpsmith.verify.prepared import PreparedWorkload

_ASKED: Counter[str] = Counter()


def own_names(workloads: Sequence[Workload]) -> tuple[Workload, ...]:
    """The worker knows memory by the workload's name, and two tests' may be called the same.

    Inputs are drawn by that name too. So it follows from the test alone, whichever tests ran before.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
    _ASKED[test] += 1
    return tuple(replace(workload, name=f"{workload.name} {_ASKED[test]} of {test}") for workload in workloads)


@contextmanager
def on_shared_bench(prepared: Sequence[PreparedWorkload], device: str = "cpu") -> Iterator[Bench]:
    """For workloads with names of their own, which are closed in the end."""
    bench = _bench(device)
    bench._workloads.update({workload.name: workload for workload in prepared})
    try:
        yield bench
    finally:
        for workload in prepared:
            del bench._workloads[workload.name]
            workload.close()


@cache
def _bench(device: str) -> Bench:
    """It ends with this process."""
    return Bench(device, [])
