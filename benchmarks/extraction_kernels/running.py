"""An extracted kernel on the CPU device, judged by its NumPy reference through the same machinery as a tuning run."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from benchmarks.extraction_kernels.catalogue import Entry
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.source.extract import extract
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.prepared import PreparedWorkload

CPU_ARCH = 800  # the architecture that decides `#if`s for the CPU device


def placed(entry: Entry, package: Path, scratch: Path) -> Path:
    """The kernel extracted for the CPU device, with the kernel.toml and the reference of its entry beside it."""
    assert entry.folder is not None
    source, _ = extract(entry.request(package, CPU_ARCH, unpack=entry.unpack)).write(scratch / "extracted")
    destination = scratch / "run"
    shutil.copytree(entry.folder, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(source, destination)
    return destination


def verdict(folder: Path, pool: CompilePool) -> str:
    """`right`, or what is wrong, over all workloads, held-out ones too."""
    kernel = load_kernel(folder)
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    configuration = kernel.default_configuration
    with ExitStack() as stack:
        prepared = [
            stack.enter_context(PreparedWorkload.prepare(kernel, w, 0, builder.binder.geometry(configuration, w)))
            for w in kernel.workloads
        ]
        candidate = builder.build(configuration, kernel.workloads)
        if not isinstance(candidate, Candidate):
            return candidate.reason
        bench = stack.enter_context(Bench("cpu", prepared))
        for workload in kernel.workloads:
            answer = bench.verify(candidate, workload.name)
            if not isinstance(answer, Verdict):
                return f"{workload.name}: {answer.reason}"
            if not answer.passed:
                return (
                    f"{workload.name}: {answer.failure.argument}: {answer.failure.problem}" if answer.failure else workload.name
                )
    return "right"
