"""The machine's own roof for a workload: a kernel that moves the same bytes in the same mix of reads and writes, and one that
only multiplies and adds, measured by the same bench at the same moment as the claims. Nothing is taken from a data sheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Language
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import assemble
from warpsmith.measure.paired import time_interleaved
from warpsmith.spec.kernel import Kernel, Role, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

_PROBES = Path(__file__).parent / "probes"
_MOST_STREAMS = 4
_ROUNDS = 5
# (threads a block, floats a block): which one a machine likes best differs, so the roof is the best of them.
_STREAM_SHAPES = ((1024, 4096), (1024, 16384), (1024, 65536), (256, 65536), (8, 16384))


@dataclass(frozen=True, slots=True)
class Needs:
    """What one launch must move at least, split into reads and writes, and what it must compute."""

    read_bytes: float
    written_bytes: float
    flops: float

    @property
    def bytes(self) -> float:
        return self.read_bytes + self.written_bytes


def needs_of(kernel: Kernel, workload: Workload) -> Needs:
    """From the arguments' sizes and roles; `[traffic]` overrides the sum of the bytes and alone knows the operations."""
    read = written = 0.0
    for buffer in kernel.buffers:
        if buffer.null:
            continue
        size = buffer.dtype.itemsize * float(np.prod([int(e.evaluate(workload.sizes)) for e in buffer.shape], dtype=float))
        read += size if buffer.role is not Role.OUT else 0.0
        written += size if buffer.role is not Role.IN else 0.0
    if kernel.traffic.bytes is not None:
        scale = float(kernel.traffic.bytes.evaluate(workload.sizes)) / max(read + written, 1.0)
        read, written = read * scale, written * scale
    flops = float(kernel.traffic.flops.evaluate(workload.sizes)) if kernel.traffic.flops is not None else 0.0
    return Needs(read, written, flops)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Probe workloads to hand to the bench, and the probes to launch on each. Without probes no roof is given."""

    needs: Mapping[str, Needs]
    prepared: tuple[PreparedWorkload, ...] = ()
    probes: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)

    def measure(self, bench: Bench, rng: np.random.Generator) -> dict[str, float]:
        """The roof of each workload in µs, at this moment."""
        best_us: dict[str, float] = {}
        for name, candidates in self.probes.items():
            times = time_interleaved(bench, name, candidates, _ROUNDS, rng)
            if isinstance(times, np.ndarray):
                best_us[name] = float(np.median(times, axis=0).min()) / 1e3
        us_per_flop = best_us.get(_PEAK, 0.0) / _PEAK_FLOPS
        return {
            workload: max(best_us[_stream_name(workload)], needs.flops * us_per_flop)
            for workload, needs in self.needs.items()
            if _stream_name(workload) in best_us
        }


def make_roofline(kernel: Kernel, pool: CompilePool, info: DeviceInfo) -> Roofline:
    needs = {w.name: needs_of(kernel, w) for w in kernel.workloads}
    if Language.OPENCL not in info.languages:
        return Roofline(needs)
    prepared: list[PreparedWorkload] = []
    probes: dict[str, Sequence[Candidate]] = {}
    for probe, shapes in (*(_stream(workload, need) for workload, need in needs.items()), _peak()):
        candidates = [_build(pool, info, probe, shape) for shape in shapes]
        built = [c for c in candidates if isinstance(c, Candidate)]
        if built:
            workload = probe.workloads[0]
            prepared.append(PreparedWorkload.prepare(probe, workload, 0, built[0].geometries[workload.name]))
            probes[workload.name] = built
    return Roofline(needs, tuple(prepared), probes)


_PEAK = "roofline: peak"
_PEAK_FLOPS = 2.0 * 8192 * 24000  # items x multiply-adds, as in probes/peak/kernel.toml


def _stream_name(workload: str) -> str:
    return f"roofline: {workload}"


def _stream(workload: str, needs: Needs) -> tuple[Kernel, list[Configuration]]:
    """A stream of the same size and nearly the same mix: whole arrays read for each one written, or only read."""
    writes = needs.written_bytes * (2 * _MOST_STREAMS) > needs.read_bytes
    streams = min(_MOST_STREAMS, round(needs.read_bytes / needs.written_bytes)) if writes else 1
    n = max(1024, math.ceil(needs.bytes / 4 / (streams + writes)))
    sums = max(-(-n // chunk) * threads for threads, chunk in _STREAM_SHAPES)
    sizes = {"n": n, "read": n * max(streams, 1), "written": n if writes else sums}
    probe = replace(load_kernel(_PROBES / "stream"), workloads=(Workload(_stream_name(workload), sizes),))
    shapes = [
        Configuration.of({"THREADS": threads, "CHUNK": chunk, "STREAMS": streams, "WRITES": int(writes)})
        for threads, chunk in _STREAM_SHAPES
    ]
    return probe, shapes


def _peak() -> tuple[Kernel, list[Configuration]]:
    probe = load_kernel(_PROBES / "peak")
    return probe, [Configuration.of({"CHAINS": chains}) for chains in probe.parameters[0].values]


def _build(pool: CompilePool, info: DeviceInfo, probe: Kernel, shape: Configuration) -> object:
    binder = Binder(probe, info.limits)
    source = Source(probe.source.read_text(), probe.source)
    requests = {w.name: binder.request(source, shape, w, shape) for w in probe.workloads}
    return assemble(pool, binder, shape, requests, probe.workloads)
