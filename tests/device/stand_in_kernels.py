"""Run by `test_stand_in.py` in a process that sees the stand-in: bundled kernels verified on it, configurations all over each space."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from shared_bench import on_shared_bench

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.arrays import Array
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.space import Space
from warpsmith.space.covering import covering_sample
from warpsmith.spec.bundled import bundled_names
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.compare import agree
from warpsmith.verify.oracle import outputs_of
from warpsmith.verify.prepared import PreparedWorkload

DEVICE = "standin"


def check(name: str, pool: CompilePool, cpu: CompilePool, sampled: int) -> str:
    """On the held-out workloads, which are small and odd. What cannot be launched must be known before."""
    kernel, info = with_own_names(load_kernel(name)), pool.describe()
    builder = Builder(Binder(kernel, info.limits), template_of(kernel), pool)
    space = Space.build(kernel.parameters, kernel.constraints, kernel.launch, kernel.workloads, info.limits)
    default, workloads = kernel.default_configuration, kernel.heldout_workloads
    chosen = [default, *covering_sample(space, sampled, np.random.default_rng(0))]
    for configuration in chosen:
        builder.prefetch(configuration, workloads)
    prepared = [PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(default, w)) for w in workloads]
    passed = 0
    with on_shared_bench(prepared, DEVICE) as bench:
        bench.launch_deadline_s = 60
        for configuration in chosen:
            candidate = builder.build(configuration, workloads)
            assert isinstance(candidate, Candidate), (str(configuration), candidate)
            if builder.refusal(configuration, candidate) is not None and configuration != default:
                continue
            for workload in workloads:
                verdict = bench.verify(candidate, workload.name)
                assert isinstance(verdict, Verdict), (str(configuration), verdict)
                assert verdict.passed, (str(configuration), verdict.failure)
                passed += 1
        compared = alike(kernel, cpu, {w.name: launched(bench, builder.build(default, workloads), w.name) for w in workloads})
    return f"{name}: {passed} passed, {compared} alike"


def with_own_names(kernel: Kernel) -> Kernel:
    """One worker serves all kernels, and knows memory by the workload's name."""
    return replace(kernel, workloads=tuple(replace(w, name=f"{kernel.name} {w.name}") for w in kernel.workloads))


def launched(bench: Bench, candidate: object, workload: str) -> dict[str, Array]:
    assert isinstance(candidate, Candidate)
    assert isinstance(bench.run_once(candidate, workload), int)
    return bench.workload(workload).outputs()


def alike(kernel: Kernel, cpu: CompilePool, outputs: Mapping[str, Mapping[str, Array]]) -> int:
    """How many outputs the original gives on the CPU device too: both may be as far from the truth as the tolerance goes."""
    default, workloads, compared = kernel.default_configuration, kernel.heldout_workloads, 0
    builder = Builder(Binder(kernel, cpu.describe().limits), template_of(kernel), cpu)
    candidate = builder.build(default, workloads)
    prepared = [PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(default, w)) for w in workloads]
    with on_shared_bench(prepared) as bench:
        for workload in prepared:
            here = launched(bench, candidate, workload.name)
            for buffer in outputs_of(kernel):
                rtol, atol = workload.tolerance(buffer)
                there = outputs[workload.name][buffer.name]
                assert agree(here[buffer.name], there, 2 * rtol, 2 * atol), (kernel.name, workload.name, buffer.name)
                compared += 1
    return compared


if __name__ == "__main__":
    names = [name for name in bundled_names() if load_kernel(name).language is not Language.OPENCL]
    folders = {folder for name in names for folder in load_kernel(name).folders}
    with CompilePool(DEVICE, cache_dir=None, folders=folders) as pool, CompilePool("cpu", cache_dir=None, folders=folders) as cpu:
        for name in names:
            print(check(name, pool, cpu, int(sys.argv[1])), flush=True)  # noqa: T201
    assert "libcuda" not in Path("/proc/self/maps").read_text(), "the driver is for workers: this process stands for the tuner"
