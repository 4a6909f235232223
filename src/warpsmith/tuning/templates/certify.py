"""Proves that the template at its defaults is the original, by the strongest means that holds. Without proof, no search."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import InputError, Location
from warpsmith.devices.base import HasMachineCode
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.examined import Examiner
from warpsmith.measure.paired import PairedTime, time_beside
from warpsmith.measure.policy import NEUTRAL, NEUTRAL_ATTEMPTS, NEUTRAL_WITHIN
from warpsmith.template import Certificate, first_difference
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.prepared import PreparedWorkload


def certify(
    builder: Builder,
    pool: CompilePool,
    bench: Bench,
    original: Candidate,
    prepared: Mapping[str, PreparedWorkload],
    rng: np.random.Generator,
) -> Certificate:
    """Same tokens, else same binary, else same machine code, else bitwise equal outputs on every tuning workload in neutral time.

    What sets binaries apart whose machine code is the same: names, notes, where things lie.
    """
    kernel = builder.binder.kernel
    if kernel.template_source is None:
        return Certificate("tokens", "identical source")
    workloads = kernel.tuning_workloads
    first = workloads[0]
    difference = first_difference(
        pool.preprocess(builder.requests.original(first)),
        pool.preprocess(builder.requests.templated(kernel.default_configuration, first)),
    )
    if difference is None:
        return Certificate("tokens", "same tokens after preprocessing")
    where = Location(kernel.template_source)
    twin = builder.build_template_default(workloads)
    if not isinstance(twin, Candidate):
        raise InputError(f"the template does not compile at its defaults: {twin.reason}", location=where)
    if all(twin.binaries[w.name].code == original.binaries[w.name].code for w in workloads):
        return Certificate("ir", "identical code after optimisation")
    if (name := _same_machine_code(builder, pool)) is not None:
        return Certificate("machine code", f"same {name}")
    for workload in workloads:
        if _outputs(bench, original, prepared[workload.name]) != _outputs(bench, twin, prepared[workload.name]):
            raise InputError(
                f"the template at its defaults is not the original: outputs differ on workload {workload.name!r}; {difference}",
                location=where,
                hint="guard every change with #if so that the default values leave the kernel unchanged",
            )
        if not _takes_no_longer(bench, workload.name, twin, original, rng):
            raise InputError(
                f"the template at its defaults is slower than the original on workload {workload.name!r}; {difference}",
                location=where,
            )
    return Certificate("outputs", "bitwise equal outputs on every tuning workload, in neutral time")


def _same_machine_code(builder: Builder, pool: CompilePool) -> str | None:
    """What its device calls the code, if that is the same for every tuning workload; None if it is not, or cannot be told."""
    if not isinstance(pool.device, HasMachineCode):
        return None
    kernel = builder.binder.kernel
    for workload in kernel.tuning_workloads:
        original = pool.machine_code(builder.requests.original(workload))
        template = pool.machine_code(builder.requests.templated(kernel.default_configuration, workload))
        if original is None or original != template:
            return None
    return pool.device.machine_code_name


def _takes_no_longer(bench: Bench, workload: str, twin: Candidate, original: Candidate, rng: np.random.Generator) -> bool:
    for _ in range(NEUTRAL_ATTEMPTS):
        timed = time_beside(bench, workload, twin, original, examiner=Examiner(bench, original), plan=NEUTRAL, rng=rng)
        if isinstance(timed, PairedTime) and timed.ratio.low <= 1 + NEUTRAL_WITHIN:
            return True
    return False


def _outputs(bench: Bench, candidate: Candidate, prepared: PreparedWorkload) -> dict[str, bytes]:
    """What one launch wrote, bit by bit."""
    time_ns = bench.run_once(candidate, prepared.name)
    if not isinstance(time_ns, int):
        raise InputError(f"{candidate.name} fails on workload {prepared.name!r}: {time_ns.reason}")
    return {name: array.tobytes() for name, array in prepared.outputs().items()}
