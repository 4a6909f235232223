"""Lower bound of a launch's time, below which no claim can be true.

The roof of `measure.roofline` is what a good kernel of the same traffic reaches, not a hard limit: caches keep part of small
arguments, `[traffic]` is its author's estimate, and not all of an input need be read. A floor counts only

- bytes that are shown to move: elements of inputs on which the result depends (`measure.influence`), and elements of outputs
  that have to change,
- less what the caches can keep from one launch to the next, where nothing empties them,
- at the speed of the fastest launch of a streaming kernel in the run, with stores counted twice (whether a store reads its line
  first depends on the code); twice that speed where everything fits into the caches,
- and never faster than one floating-point operation per four bytes, at the speed of the multiply-adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.measure.caches import Caches
from warpsmith.measure.policy import IN_CACHE, STORE_COSTS, SURE_SHARE
from warpsmith.measure.roofline import Needs, Probed
from warpsmith.spec.kernel import Role
from warpsmith.verify.inputs import nbytes_of
from warpsmith.verify.prepared import PreparedWorkload

_MB = 1e6


@dataclass(frozen=True, slots=True)
class Certain:
    """Bytes of one launch that are shown to move. `partly` names inputs on most of which the result does not depend."""

    read_bytes: float
    written_bytes: float
    partly: tuple[str, ...] = ()

    @property
    def bytes(self) -> float:
        return self.read_bytes + self.written_bytes


def certain_bytes(workload: PreparedWorkload, shares: Mapping[str, float]) -> Certain:
    read = written = 0.0
    for buffer in workload.kernel.buffers:
        if buffer.null:
            continue
        if buffer.role is not Role.OUT:
            read += shares.get(buffer.name, 0.0) * workload.inputs[buffer.name].nbytes
        if buffer.role is not Role.IN:
            written += workload.must_change(buffer) * buffer.dtype.itemsize
    return Certain(read, written, tuple(name for name, share in shares.items() if share < SURE_SHARE))


@dataclass(frozen=True, slots=True)
class Floor:
    """A lower bound. `doubts` are reasons why a kernel may legitimately be above the roof."""

    us: float
    certain: Certain
    doubts: tuple[str, ...]


def floor_of(
    workload: PreparedWorkload, needs: Needs, probed: Probed, certain: Certain, caches: Caches | None, *, is_cold: bool
) -> Floor | None:
    """None if no streaming kernel was measured. `is_cold` devices empty their caches before each launch."""
    stream_us = probed.fastest_us.get(workload.name)
    if stream_us is None:
        return None
    peak = (needs.read_bytes + STORE_COSTS * (needs.written_bytes + needs.in_place_bytes)) / stream_us
    if is_cold:  # what is stored last may stay in the cache
        streamed_us = certain.read_bytes / peak
    elif caches is None:
        streamed_us = 0.0
    elif certain.bytes > caches.all_bytes:
        streamed_us = (certain.bytes - caches.all_bytes) / peak
    else:
        streamed_us = max(0.0, certain.bytes - caches.private_bytes) / (IN_CACHE * peak)
    computed_us = certain.bytes / 4 * probed.us_per_flop
    return Floor(max(streamed_us, computed_us), certain, tuple(_doubts(workload, needs, probed, certain, caches, is_cold)))


def _doubts(
    workload: PreparedWorkload, needs: Needs, probed: Probed, certain: Certain, caches: Caches | None, is_cold: bool
) -> list[str]:
    declared = nbytes_of(workload.kernel, workload.workload)
    found = []
    if not is_cold and caches is None:
        found.append("the cache size is unknown")
    elif not is_cold and caches is not None and declared <= caches.all_bytes:
        found.append(f"the arguments ({declared / _MB:.3g} MB) fit in the last-level cache")
    elif not is_cold and caches is not None and declared <= 4 * caches.all_bytes:
        found.append(f"part of the arguments ({declared / _MB:.3g} MB) fits in the last-level cache")
    found += [f"the result does not depend on all of {name}" for name in certain.partly]
    if needs.flops * probed.us_per_flop > probed.stream_us[workload.name]:
        found.append("the operation count comes from [traffic]")
    elif needs.read_bytes + needs.written_bytes + 2 * needs.in_place_bytes > 1.01 * (certain.bytes or 1.0) and not found:
        found.append("not all of the traffic is proved necessary")
    return found
