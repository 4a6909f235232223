"""Runs what a refactoring pass made of a kernel on the CPU device, next to the original as the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shared_bench import on_shared_bench, own_names

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import assemble
from warpsmith.refactor.base import Pass, Rewrite, Subject, Variant
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel, Launch, Parameter, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.verify.prepared import PreparedWorkload

Values = Mapping[str, int]

# For `foreign`: c[m, n] of a[m, k] and b[k, n], in tiles of 16 × 16 by blocks of BLOCK.
PRODUCT = """
[arguments]
c = { dtype = "f32", shape = ["m", "n"], role = "inout", init = "normal" }
a = { dtype = "f32", shape = ["m", "k"], role = "in", init = "normal" }
b = { dtype = "f32", shape = ["k", "n"], role = "in", init = "normal" }
m = { dtype = "i32", value = "m" }
n = { dtype = "i32", value = "n" }
k = { dtype = "i32", value = "k" }

[launch]
grid = ["ceildiv(n, 16)", "ceildiv(m, 16)"]
block = BLOCK

[workloads]
whole = { m = 48, n = 32, k = 64 }
odd = { m = 37, n = 21, k = 43 }
"""


def original(name_or_path: str | Path) -> tuple[Kernel, Variant]:
    """A kernel as it was before any template."""
    kernel = untouched(load_kernel(name_or_path))
    launch = kernel.launch
    grid, block = (tuple(extent.text for extent in extents) for extents in (launch.grid, launch.block))
    return kernel, Variant(read_source(kernel.source), kernel.entry, grid, block, launch.shared_bytes.text)


def foreign(folder: Path, source: str, toml: str, suffix: str = ".cu") -> tuple[Kernel, Variant]:
    """A small kernel brought as text: `toml` is the kernel.toml without its [kernel] table; the entry is called `k`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"k{suffix}").write_text(source)
    (folder / "kernel.toml").write_text(f'[kernel]\nname = "k"\nsource = "k{suffix}"\nentry = "k"\n{toml}')
    return original(folder)


def rewritten(transform: Pass, kernel: Kernel, variant: Variant, limits: Limits) -> Rewrite:
    answer = transform.apply(Subject(kernel, limits, variant))
    assert isinstance(answer, Rewrite), answer
    return answer


class Runner:
    """Compiles variants of one kernel and compares their outputs with those of the original, or with its reference."""

    def __init__(
        self, pool: CompilePool, kernel: Kernel, untouched: Variant, workloads: Sequence[Workload] | None = None
    ) -> None:
        self._pool = pool
        self._kernel = kernel
        self._untouched = untouched
        self._workloads = own_names(kernel.workloads if workloads is None else workloads)
        self._limits = pool.describe().limits

    def check(self, cases: Sequence[tuple[Variant, Values]]) -> None:
        """Every case compiles, and its outputs are right on every workload."""
        with self._bench() as bench:
            for number, (variant, values) in enumerate(cases):
                candidate = self.build(variant, values, f"case {number}: {dict(values)}")
                for workload in self._workloads:
                    verdict = bench.verify(candidate, workload.name)
                    assert isinstance(verdict, Verdict), (candidate.name, workload.name, verdict, variant.text)
                    assert verdict.passed, (candidate.name, workload.name, verdict.failure, variant.text)

    def build(self, variant: Variant, chosen: Values, name: str) -> Candidate:
        values = {**{t.name: t.default for t in variant.tunables}, **chosen}
        parameters = tuple(Parameter(n, (v,), v) for n, v in values.items())
        kernel = replace(self._kernel, entry=variant.entry, launch=_launch(variant), parameters=parameters)
        binder, configuration = Binder(kernel, self._limits), Configuration(tuple(values.items()))
        source = Source(variant.text, kernel.source)
        requests = {w.name: binder.request(source, configuration, w, values) for w in self._workloads}
        built = assemble(self._pool, binder, configuration, requests, self._workloads, name=name)
        assert isinstance(built, Candidate), (name, built, variant.text)
        return built

    @contextmanager
    def _bench(self) -> Iterator[Bench]:
        """With workloads that have their expected outputs."""
        binder = Binder(self._kernel, self._limits)
        geometries = {w.name: binder.geometry(Configuration(()), w) for w in self._workloads}
        ready = [PreparedWorkload.prepare(self._kernel, w, 0, geometries[w.name]) for w in self._workloads]
        with on_shared_bench(ready) as bench:
            if any(p.expected is None for p in ready):
                first = self.build(self._untouched, {}, "the original")
                for prepared in ready:
                    ran = bench.run_once(first, prepared.name)
                    assert isinstance(ran, int), ran
                    prepared.adopt_outputs_as_expected()
            yield bench


def _launch(variant: Variant) -> Launch:
    grid, block = (tuple(Expression.parse(e) for e in axis) for axis in (variant.grid, variant.block))
    return Launch(grid, block, Expression.parse(variant.shared))
