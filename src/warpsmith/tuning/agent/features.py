"""Features of a kernel, as short phrases: later runs use them to find results of similar kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Resources
from warpsmith.source import Names, loops_of, parse_kernel
from warpsmith.source.arrays import arrays_of
from warpsmith.source.effects import called_functions
from warpsmith.source.lane_strides import Access
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.verify.inputs import nbytes_of, shape_of

_CALLS = {
    "waits at barriers": ("__syncthreads", "barrier", "work_group_barrier"),
    "exchanges within warps": ("__shfl", "sub_group", "warp_reduce"),
    "atomic operations": ("atomic",),
    "dear functions": ("exp", "log", "pow", "sin", "cos", "tan", "sqrt", "erf", "rsqrt"),
}
_FEW = 0.1  # of the bytes that go in: what comes out of a reduction


def features_of(
    kernel: Kernel, baseline: Resources | None, bounds: Mapping[str, str], accesses: Sequence[Access]
) -> frozenset[str]:
    """From the source, the workloads, the compiler's figures of the original, and what sets its roof."""
    found = {*_of_source(kernel), *_of_accesses(accesses), *_of_data(kernel)}
    found |= {f"{bound} sets its roof" for bound in bounds.values()}
    if baseline is not None and (baseline.gathers or baseline.scatters):
        found.add("gathers")
    return frozenset(found)


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of all features that both have."""
    return len(one & other) / len(one | other) if one | other else 0.0


def _of_source(kernel: Kernel) -> Iterator[str]:
    try:
        source = parse_kernel(read_source(kernel.source), kernel.language, kernel.entry)
    except InputError:
        return
    names = Names(source, (), kernel)
    bodies = list(source.reached())
    calls = {name.rsplit("::", 1)[-1] for body in bodies for name, _ in called_functions(body)}
    for word, beginnings in _CALLS.items():
        if any(name.lstrip("_").startswith(part.lstrip("_")) for name in calls for part in beginnings):
            yield word
    loops = [loop for body in bodies for loop in loops_of(body, names)]
    yield from {f"{loop.kind} loops" for loop in loops}
    if not loops:
        yield "no loops"
    if any(array.is_shared for array in arrays_of(names)):
        yield "shared memory"
    yield f"{len(kernel.launch.block)}-dimensional blocks"


def _of_accesses(accesses: Sequence[Access]) -> Iterator[str]:
    for access in accesses:
        kind = {"1": "neighbouring", "0": "the same", None: "untold"}.get(access.apart, "distant")
        yield f"{'writes' if access.is_written else 'reads'} {kind} elements{' in loops' if access.depth else ''}"


def _of_data(kernel: Kernel) -> Iterator[str]:
    yield from {f"{buffer.dtype} {'results' if buffer.role != 'in' else 'inputs'}" for buffer in kernel.buffers}
    workload = kernel.tuning_workloads[0]
    whole = nbytes_of(kernel, workload)
    written = [buffer for buffer in kernel.buffers if buffer.role != "in" and not buffer.null]
    results = sum(math.prod(shape_of(buffer, kernel, workload)) * buffer.dtype.itemsize for buffer in written)
    yield "few results" if results < _FEW * whole else "many results"
