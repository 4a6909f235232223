"""One bundled kernel on one device, from its source to a verdict and a time: what a run does, once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.hardware import Language, Reading
from warpsmith.core.outcome import Verdict
from warpsmith.devices.base import DeviceInfo, Finding, State
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.pool import FIRST
from warpsmith.verify.prepared import prepare_all

# Small and odd workloads of kernels that need little: a grid, registers, and memory.
_KERNELS = {Language.CUDA: "silu_and_mul", Language.HIP: "silu_and_mul_hip", Language.OPENCL: "convolution_opencl"}
_TIMED = 5


@dataclass(frozen=True, slots=True)
class VerifiedLaunch:
    kernel: str
    workload: str
    max_error: float
    median_us: float
    registers: int | None
    reading: Reading | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def launch(name: str, pool: CompilePool, info: DeviceInfo) -> VerifiedLaunch | Finding:
    """Raises UnavailableError where the device does not open."""
    language = next(known for known in _KERNELS if known in info.languages)
    kernel = load_kernel(_KERNELS[language])
    workload = kernel.heldout_workloads[0]
    builder = Builder(Binder(kernel, info.limits), template_of(kernel), pool)
    candidate = builder.build(kernel.default_configuration, [workload])
    if not isinstance(candidate, Candidate):
        return _failed(f"{kernel.name} does not compile: {candidate.reason}")
    with ExitStack() as stack:
        prepared = prepare_all(builder.binder, [workload], 0, stack)
        bench = stack.enter_context(Bench(name, list(prepared.values())))
        verdict = bench.verify(candidate, workload.name)
        if not isinstance(verdict, Verdict):
            return _failed(f"{kernel.name} was not launched: {verdict.reason}")
        if not verdict.passed:
            return _failed(f"{kernel.name} gives a wrong result: {verdict.failure}")
        times = bench.time(workload.name, [candidate] * _TIMED, [FIRST] * _TIMED)
        if not isinstance(times, list):
            return _failed(f"{kernel.name} ran once and then failed: {times.reason}")
        reading = bench.reading()
    registers = candidate.binaries[workload.name].resources.registers
    return VerifiedLaunch(kernel.name, workload.name, verdict.max_error, median(times) / 1e3, registers, reading)


def _failed(said: str) -> Finding:
    return Finding("verified launch", State.FAILED, said, "please report this, with the output of `warpsmith doctor --json`")
