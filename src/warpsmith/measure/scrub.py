"""Overwrites leftovers of a launch outside its outputs, before each timed launch.

A kernel could keep a result in uninitialised shared memory, or on the stack of the thread that runs its block, and find it
there in the next launch. Fresh inputs make such a result wrong; this removes it. On GPUs a kernel also makes the inputs, and is
part of this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo, ParameterType
from warpsmith.devices.memory import PIECE_BYTES, STEP, Contents
from warpsmith.measure.bench import Candidate, Scrubber
from warpsmith.measure.candidates import assemble
from warpsmith.measure.roofline import PROBES
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

# Threads per block, stack bytes of each (together more than kernels use that fit their registers), and turns of waiting for the
# other blocks. A frame has unwritten gaps between what belongs to several threads. A thread of a CPU may write all of it, and
# on a busy machine another block's thread may wait. A GPU's threads may not: there are frames of two sizes, with gaps at
# different places.
_ON_CPU = (1, (1 << 18,), 20_000)
_ON_GPU = (64, (4096, 1024), 2000)
# On a GPU as many threads as it holds, which covers kernels that hardly spill.
_GPU_STACK_BYTES = 1024
_GPU_TURNS = 100
_LINE = 64


def make_scrubber(pool: CompilePool, info: DeviceInfo, compute_units: int | None = None) -> Scrubber | None:
    """None for devices without one. `compute_units` as the bench's."""
    units = compute_units or info.limits.compute_units
    if Language.OPENCL in info.languages:
        return _of_opencl(pool, info, units)
    return _of_gpus(pool, info, units) if Language.CUDA in info.languages else None


def _of_opencl(pool: CompilePool, info: DeviceInfo, units: int) -> Scrubber | None:
    threads, stacks, turns = _ON_GPU if info.limits.has_banked_scratchpad else _ON_CPU
    probe, sizes = load_kernel(PROBES / "scrub"), {"units": units, "threads": threads}
    shared_bytes = info.limits.shared_bytes_per_block // _LINE * _LINE
    defines = [{"SHARED_BYTES": shared_bytes, "STACK_BYTES": stack_bytes, "TURNS": turns} for stack_bytes in stacks]
    candidates = tuple(c for given in defines if (c := _built(pool, info, probe, sizes, given)) is not None)
    if not candidates:
        return None
    return Scrubber(_prepared(probe, candidates[0], sizes), always=candidates, filler=_filler(pool, info))


def _of_gpus(pool: CompilePool, info: DeviceInfo, units: int) -> Scrubber:
    probe, limits = load_kernel(PROBES / "scrub_gpu"), info.limits
    shared_bytes = limits.shared_bytes_per_block // _LINE * _LINE
    shared = {"units": units, "threads": min(256, limits.max_threads_per_block), "shared": shared_bytes}
    stack = {"units": units, "threads": limits.max_threads_per_block, "shared": 0}
    of_shared = _built(pool, info, probe, shared, {"SHARED_BYTES": shared_bytes, "STACK_BYTES": 0, "TURNS": _GPU_TURNS})
    of_stack = _built(pool, info, probe, stack, {"SHARED_BYTES": 0, "STACK_BYTES": _GPU_STACK_BYTES, "TURNS": _GPU_TURNS})
    found = of_shared or of_stack
    prepared = _prepared(probe, found, stack) if found is not None else None
    return Scrubber(prepared, of_shared=of_shared, of_stack=of_stack, filler=_filler(pool, info))


def _built(
    pool: CompilePool, info: DeviceInfo, probe: Kernel, sizes: Mapping[str, int], defines: Mapping[str, Value]
) -> Candidate | None:
    one = replace(probe, workloads=(_workload(probe, sizes),), defines=defines)
    binder, default, [workload] = Binder(one, info.limits), one.default_configuration, one.workloads
    request = binder.request(Source(one.source.read_text(), one.source), default, workload, default)
    built = assemble(pool, binder, default, {workload.name: request}, [workload])
    return built if isinstance(built, Candidate) else None


def _prepared(probe: Kernel, candidate: Candidate, sizes: Mapping[str, int]) -> PreparedWorkload:
    workload = _workload(probe, sizes)
    return PreparedWorkload.prepare(replace(probe, workloads=(workload,)), workload, 0, candidate.geometries[workload.name])


def _workload(probe: Kernel, sizes: Mapping[str, int]) -> Workload:
    return Workload(f"scrub {sizes['units']}", {**probe.workloads[0].sizes, **sizes})


def _filler(pool: CompilePool, info: DeviceInfo) -> Binary | None:
    """The kernel that fills buffers: in the memory of GPUs of all vendors, or bypassing the caches of a CPU."""
    language = Language.CUDA if info.limits.has_banked_scratchpad else Language.OPENCL
    if language not in info.languages:
        return None
    file = PROBES / "fill" / f"fill{'.cu' if language is Language.CUDA else '.cl'}"
    pointers = [ParameterType(name, DType.U8, is_pointer=True) for name in ("to", "from")]
    numbers = [ParameterType(name, DType.U64, is_pointer=False) for name in ("nbytes", *(f.name for f in fields(Contents)))]
    request = CompileRequest(
        source=file.read_text(),
        source_file=file,
        language=language,
        entry="fill",
        parameters=(*pointers, *numbers),
        geometry=Geometry((1, 1, 1), (1, 1, 1)),
        defines={"PIECE_BYTES": PIECE_BYTES, "STEP": STEP},
    )
    built = pool.submit(request).result()
    return built if isinstance(built, Binary) else None
