"""Share of its inputs on which a kernel's result depends, found by changing elements and running the original.

A kernel that does not read an element on which the result depends is wrong when it changes. An element that is read without
effect (a masked value times zero) does not count: only one whose change changes the result does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.policy import INFLUENCE_DOUBT, INFLUENCE_SAMPLES
from warpsmith.spec.kernel import Buffer, Role
from warpsmith.verify.prepared import PreparedWorkload

_LARGE = 100.0
_LARGEST = {DType.F16: 8192.0, DType.F8E4M3: 240.0, DType.F8E5M2: 8192.0}


def influence(
    device: str, original: Candidate, workload: PreparedWorkload, rng: np.random.Generator, samples: int = INFLUENCE_SAMPLES
) -> Mapping[str, float]:
    """By input: the minimum share of its elements that a correct kernel must read, with 95 % confidence."""
    shares: dict[str, float] = {}
    with workload.changeable() as changed, Bench(device, [changed]) as bench:
        before = _outputs(bench, original, changed)
        for buffer in workload.kernel.buffers:
            if buffer.null or buffer.role is Role.OUT or not changed.inputs[buffer.name].size or before is None:
                continue
            places = rng.integers(0, changed.inputs[buffer.name].size, samples)
            found = sum(_matters(bench, original, changed, buffer, int(place), before, rng) for place in places)
            shares[buffer.name] = _least_share(found, samples)
    return shares


def _least_share(found: int, samples: int) -> float:
    """Lower end of a one-sided Clopper-Pearson interval, by bisection."""
    low, high = 0.0, found / samples
    for _ in range(40):
        share = (low + high) / 2
        if _at_least(found, samples, share) < INFLUENCE_DOUBT:
            low = share
        else:
            high = share
    return low


def _at_least(found: int, samples: int, share: float) -> float:
    """Probability of this many hits or more."""
    term, total = (1.0 - share) ** samples, 0.0
    for number in range(samples + 1):
        total += term if number >= found else 0.0
        term *= (samples - number) / (number + 1) * share / (1.0 - share)
    return total


def _matters(
    bench: Bench,
    original: Candidate,
    changed: PreparedWorkload,
    buffer: Buffer,
    place: int,
    before: Mapping[str, Array],
    rng: np.random.Generator,
) -> bool:
    flat = changed.inputs[buffer.name].reshape(-1)
    own = flat[place]
    try:
        for other in _others(flat, own, buffer, rng):
            flat[place] = other
            after = _outputs(bench, original, changed)
            if after is None or any(before[name].tobytes() != after[name].tobytes() for name in before):
                return True  # what crashes on another value has read it
    finally:
        flat[place] = own
    return False


def _others(flat: Array, own: object, buffer: Buffer, rng: np.random.Generator) -> list[object]:
    """Replacement values: large floats of both signs, which rounding cannot hide; for integers another value present in the
    input, because they may be indices.
    """
    if buffer.dtype.is_float:
        largest = _LARGE * max(float(np.nanmax(np.abs(flat.astype(np.float32)))), 1.0)
        large = np.array([1, -1]) * min(largest, _LARGEST.get(buffer.dtype, largest))
        return list(large.astype(flat.dtype))
    values = flat[rng.integers(0, flat.size, 64)]
    different = values[values != own]
    return list(different[:1])


def _outputs(bench: Bench, original: Candidate, workload: PreparedWorkload) -> Mapping[str, Array] | None:
    ran = bench.run_once(original, workload.name)
    return workload.outputs() if isinstance(ran, int) else None
