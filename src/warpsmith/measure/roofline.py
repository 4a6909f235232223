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
from warpsmith.spec.kernel import Buffer, Kernel, Role, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

_PROBES = Path(__file__).parent / "probes"
_MOST_STREAMS = 4
_ROUNDS = 4
# (threads a block, floats a block): which one a machine likes best differs, so the roof is the best of them.
_STREAM_SHAPES = ((4096, 4096), (1024, 1024), (256, 256), (1024, 4096), (256, 4096), (8, 4096), (8, 256))
_LARGE, _SMALL = 4096, 256  # floats to which large and small streams are rounded up, so that blocks have no remainder


@dataclass(frozen=True, slots=True)
class Needs:
    """What one launch must move at least, by what happens to it, and what it must compute. In-place bytes move twice."""

    read_bytes: float
    written_bytes: float
    in_place_bytes: float
    flops: float


def needs_of(kernel: Kernel, workload: Workload) -> Needs:
    """From the arguments' sizes and roles; `[traffic]` overrides the sum of the bytes and alone knows the operations."""
    size = dict.fromkeys(Role, 0.0)
    for buffer in kernel.buffers:
        if not buffer.null:
            extents = [int(e.evaluate(workload.sizes)) for e in buffer.shape]
            size[buffer.role] += buffer.dtype.itemsize * float(math.prod(extents))
    moved = size[Role.IN] + size[Role.OUT] + 2 * size[Role.INOUT]
    traffic = kernel.traffic
    scale = float(traffic.bytes.evaluate(workload.sizes)) / max(moved, 1.0) if traffic.bytes is not None else 1.0
    flops = float(traffic.flops.evaluate(workload.sizes)) if traffic.flops is not None else 0.0
    return Needs(scale * size[Role.IN], scale * size[Role.OUT], scale * size[Role.INOUT], flops)


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
        candidates = [_build(pool, info, probe, shape) for shape in shapes if _fits(shape, info)]
        built = [c for c in candidates if isinstance(c, Candidate)]
        if built:
            workload = probe.workloads[0]
            prepared.append(PreparedWorkload.prepare(probe, workload, 0, built[0].geometries[workload.name]))
            probes[workload.name] = built
    return Roofline(needs, tuple(prepared), probes)


# How probes/stream/stream.cl treats the array it changes; the number is also how often that array moves.
_ONLY_READ, _WRITE, _IN_PLACE = 0, 1, 2
_PEAK = "roofline: peak"
_PEAK_FLOPS = 2.0 * 8192 * 24000  # items x multiply-adds, as in probes/peak/kernel.toml


def _stream_name(workload: str) -> str:
    return f"roofline: {workload}"


def _stream(workload: str, needs: Needs) -> tuple[Kernel, list[Configuration]]:
    """A stream of the same size and nearly the same mix: so many whole arrays only read for each one written or updated."""
    changed = max(needs.written_bytes, needs.in_place_bytes)
    if changed * 2 * _MOST_STREAMS < needs.read_bytes:
        mode, streams = _ONLY_READ, 1
    else:
        mode = _IN_PLACE if needs.in_place_bytes >= needs.written_bytes else _WRITE
        streams = min(_MOST_STREAMS, round(needs.read_bytes / changed))
    moved = needs.read_bytes + needs.written_bytes + 2 * needs.in_place_bytes
    floats = moved / 4 / (streams + mode)
    whole = _LARGE if floats > 64 * _LARGE else _SMALL
    n = math.ceil(floats / whole) * whole
    shapes = [(threads, chunk) for threads, chunk in _STREAM_SHAPES if n % chunk == 0]
    sums = max(n // chunk * threads for threads, chunk in shapes)
    sizes = {"n": n, "read": n * max(streams, 1), "written": sums if mode == _ONLY_READ else n}
    probe = load_kernel(_PROBES / "stream")
    # Only what is updated in place is put back before each launch, as for the kernel under test.
    role = Role.INOUT if mode == _IN_PLACE else Role.OUT
    arguments = tuple(replace(a, role=role) if isinstance(a, Buffer) and a.name == "out" else a for a in probe.arguments)
    probe = replace(probe, arguments=arguments, workloads=(Workload(_stream_name(workload), sizes),))
    return probe, [
        Configuration.of({"THREADS": threads, "CHUNK": chunk, "STREAMS": streams, "MODE": mode}) for threads, chunk in shapes
    ]


def _peak() -> tuple[Kernel, list[Configuration]]:
    probe = load_kernel(_PROBES / "peak")
    return probe, [Configuration.of({"CHAINS": chains}) for chains in probe.parameters[0].values]


def _fits(shape: Configuration, info: DeviceInfo) -> bool:
    return int(shape.get("THREADS", 1)) <= info.limits.max_threads_per_block


def _build(pool: CompilePool, info: DeviceInfo, probe: Kernel, shape: Configuration) -> object:
    binder = Binder(probe, info.limits)
    source = Source(probe.source.read_text(), probe.source)
    requests = {w.name: binder.request(source, shape, w, shape) for w in probe.workloads}
    return assemble(pool, binder, shape, requests, probe.workloads)
