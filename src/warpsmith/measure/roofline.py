"""The machine's measured roofline for a workload.

One probe kernel moves the same bytes in the same mix of reads and writes; another only multiplies and adds. The same bench
measures both together with the claims. No data sheet is used.
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
from warpsmith.measure.policy import ROOF_ROUNDS
from warpsmith.spec.kernel import Buffer, Kernel, Role, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

PROBES = Path(__file__).parent / "probes"
_MOST_STREAMS = 4
# (threads per block, floats per block): the best choice differs by machine, so the roof is the fastest of them.
_STREAM_SHAPES = ((4096, 4096), (1024, 1024), (256, 256), (1024, 4096), (256, 4096), (8, 4096), (8, 256))
# (threads, floats per block, floats per access) for GPU threads.
_GPU_STREAM_SHAPES = (
    (1024, 4096, 4),
    (512, 4096, 4),
    (256, 4096, 4),
    (256, 1024, 4),
    (64, 256, 4),
    (256, 1024, 1),
    (256, 256, 1),
)
_LARGE, _SMALL = 4096, 256  # floats to which large and small streams are rounded up, so that blocks have no remainder


@dataclass(frozen=True, slots=True)
class Needs:
    """Minimum traffic and operations of one launch, by kind. In-place bytes move twice."""

    read_bytes: float
    written_bytes: float
    in_place_bytes: float
    flops: float

    @property
    def moved_bytes(self) -> float:
        return self.read_bytes + self.written_bytes + 2 * self.in_place_bytes


def needs_of(kernel: Kernel, workload: Workload) -> Needs:
    """From the arguments' sizes and roles; `[traffic]` overrides the number of bytes and is the only source of operations."""
    size = dict.fromkeys(Role, 0.0)
    for buffer in kernel.buffers:
        if not buffer.null:
            extents = [int(e.evaluate(workload.sizes)) for e in buffer.shape]
            # Infinite if the product of integers does not fit a float.
            size[buffer.role] += buffer.dtype.itemsize * math.prod(map(float, extents))
    moved = size[Role.IN] + size[Role.OUT] + 2 * size[Role.INOUT]
    traffic = kernel.traffic
    scale = float(traffic.bytes.evaluate(workload.sizes)) / max(moved, 1.0) if traffic.bytes is not None else 1.0
    flops = float(traffic.flops.evaluate(workload.sizes)) if traffic.flops is not None else 0.0
    return Needs(scale * size[Role.IN], scale * size[Role.OUT], scale * size[Role.INOUT], flops)


@dataclass(frozen=True, slots=True)
class Probed:
    """Times of one measurement of the probes: the best stream by workload, and one operation of the multiply-adds (0: unknown).

    `fastest_us` are single launches, the least affected by disturbances.
    """

    stream_us: Mapping[str, float]
    us_per_flop: float
    fastest_us: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Probe workloads to hand to the bench, and the probes to launch on each. Without probes there is no roof."""

    needs: Mapping[str, Needs]
    prepared: tuple[PreparedWorkload, ...] = ()
    probes: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    peak_flops: float = 0.0  # of one launch of the multiply-adds

    def measure(self, bench: Bench, rng: np.random.Generator) -> dict[str, float]:
        """Measure the roof of each workload now, in µs."""
        return self.roof_us(self.probed(bench, rng))

    def probed(self, bench: Bench, rng: np.random.Generator) -> Probed:
        best_us: dict[str, float] = {}
        fastest_us: dict[str, float] = {}
        for name, candidates in self.probes.items():
            times = time_interleaved(bench, name, candidates, ROOF_ROUNDS, rng)
            if isinstance(times, np.ndarray):
                best_us[name] = float(np.median(times, axis=0).min()) / 1e3
                fastest_us[name] = float(times.min()) / 1e3
        streams = {workload: _stream_name(workload) for workload in self.needs if _stream_name(workload) in best_us}
        return Probed(
            {workload: best_us[name] for workload, name in streams.items()},
            best_us[_PEAK] / self.peak_flops if _PEAK in best_us else 0.0,
            {workload: fastest_us[name] for workload, name in streams.items()},
        )

    def roof_us(self, probed: Probed) -> dict[str, float]:
        return {w: max(stream_us, self._arithmetic_us(w, probed)) for w, stream_us in probed.stream_us.items()}

    def bounds(self, probed: Probed) -> dict[str, str]:
        """The limiting resource of each workload."""
        arithmetic = {w: self._arithmetic_us(w, probed) > stream_us for w, stream_us in probed.stream_us.items()}
        return {w: "arithmetic" if is_higher else "memory" for w, is_higher in arithmetic.items()}

    def _arithmetic_us(self, workload: str, probed: Probed) -> float:
        return self.needs[workload].flops * probed.us_per_flop


def make_roofline(kernel: Kernel, pool: CompilePool, info: DeviceInfo) -> Roofline:
    needs = {w.name: needs_of(kernel, w) for w in kernel.workloads}
    language = next((known for known in _SUFFIXES if known in info.languages), None)
    if language is None:
        return Roofline(needs)
    peak, chains = _peak(language, info)
    prepared: list[PreparedWorkload] = []
    probes: dict[str, Sequence[Candidate]] = {}
    for probe, shapes in (*(_stream(workload, need, language) for workload, need in needs.items()), (peak, chains)):
        candidates = [_build(pool, info, probe, shape) for shape in shapes if _fits(shape, info)]
        built = [c for c in candidates if isinstance(c, Candidate)]
        if built:
            workload = probe.workloads[0]
            prepared.append(PreparedWorkload.prepare(probe, workload, 0, built[0].geometries[workload.name]))
            probes[workload.name] = built
    sizes = peak.workloads[0].sizes
    return Roofline(needs, tuple(prepared), probes, 2.0 * sizes["items"] * sizes["fmas"])


# How probes/stream/stream.cl treats the array it changes; also how often that array moves.
_ONLY_READ, _WRITE, _IN_PLACE = 0, 1, 2
_PEAK = "roofline: peak"
# CUDA C++ on GPUs of both vendors, and where a device runs both, OpenCL C.
_SUFFIXES = {Language.OPENCL: ".cl", Language.CUDA: ".cu"}
# As many threads as any compute unit holds, each running long enough to make start-up negligible.
_GPU_PEAK_THREADS, _GPU_PEAK_FMAS = 2048, 6000


def _stream_name(workload: str) -> str:
    return f"roofline: {workload}"


def _probe(name: str, language: Language) -> Kernel:
    kernel = load_kernel(PROBES / name)
    return replace(kernel, language=language, source=kernel.source.with_suffix(_SUFFIXES[language]))


def _stream(workload: str, needs: Needs, language: Language) -> tuple[Kernel, list[Configuration]]:
    """A stream of the same size and nearly the same mix: whole arrays only read for each one written or updated."""
    changed = max(needs.written_bytes, needs.in_place_bytes)
    if changed * 2 * _MOST_STREAMS < needs.read_bytes:
        mode, streams = _ONLY_READ, 1
    else:
        mode = _IN_PLACE if needs.in_place_bytes >= needs.written_bytes else _WRITE
        streams = min(_MOST_STREAMS, round(needs.read_bytes / changed))
    floats = needs.moved_bytes / 4 / (streams + mode)
    whole = _LARGE if floats > 64 * _LARGE else _SMALL
    n = math.ceil(floats / whole) * whole
    known = _GPU_STREAM_SHAPES if language is Language.CUDA else [(threads, chunk, 1) for threads, chunk in _STREAM_SHAPES]
    shapes = [(threads, chunk, vector) for threads, chunk, vector in known if n % chunk == 0]
    sums = max(n // chunk * threads for threads, chunk, _ in shapes)
    sizes = {"n": n, "read": n * max(streams, 1), "written": sums if mode == _ONLY_READ else n}
    probe = _probe("stream", language)
    # Only what is updated in place is restored before each launch, as for the kernel under test.
    role = Role.INOUT if mode == _IN_PLACE else Role.OUT
    arguments = tuple(replace(a, role=role) if isinstance(a, Buffer) and a.name == "out" else a for a in probe.arguments)
    probe = replace(probe, arguments=arguments, workloads=(Workload(_stream_name(workload), sizes),))
    return probe, [
        Configuration.of({"THREADS": threads, "CHUNK": chunk, "STREAMS": streams, "MODE": mode, "VEC": vector})
        for threads, chunk, vector in shapes
    ]


def _peak(language: Language, info: DeviceInfo) -> tuple[Kernel, list[Configuration]]:
    probe = _probe("peak", language)
    if language is Language.CUDA:
        sizes = {"items": _GPU_PEAK_THREADS * info.limits.compute_units, "fmas": _GPU_PEAK_FMAS}
        probe = replace(probe, workloads=(replace(probe.workloads[0], sizes=sizes),))
    return probe, [Configuration.of({"CHAINS": chains}) for chains in probe.parameters[0].values]


def _fits(shape: Configuration, info: DeviceInfo) -> bool:
    return int(shape.get("THREADS", 1)) <= info.limits.max_threads_per_block


def _build(pool: CompilePool, info: DeviceInfo, probe: Kernel, shape: Configuration) -> object:
    binder = Binder(probe, info.limits)
    source = Source(probe.source.read_text(), probe.source)
    requests = {w.name: binder.request(source, shape, w, shape) for w in probe.workloads}
    return assemble(pool, binder, shape, requests, probe.workloads)
