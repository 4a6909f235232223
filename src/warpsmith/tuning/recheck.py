"""What was exported, put through the device once more: the files as they lie there, on every workload, held-out ones included."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import Location, WarpsmithError
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import Verdict, WrongResult
from warpsmith.export.base import Build
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.refactor.untouched import untouched
from warpsmith.space import space_of
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import first_difference, template_of
from warpsmith.tuning.cores import all_cores
from warpsmith.tuning.evaluate import Builder
from warpsmith.tuning.original import establish_original, require_right
from warpsmith.tuning.probes import require_language
from warpsmith.verify.prepared import PreparedWorkload

_SEED = 20  # not a run's default: the exported files meet inputs that nothing was chosen by


@dataclass(frozen=True, slots=True)
class Adversaries:
    """Workloads that a tester added to a run's verification, with the run's seed: its inputs the original can do."""

    workloads: tuple[Workload, ...] = ()
    seed: int = 0


def recheck(
    kernel: Kernel, builds: Sequence[Build], device: str, *, binary_cache: Path, adversaries: Adversaries
) -> dict[str, Any]:
    """What was shown of the builds. Raises WarpsmithError when one does not compile, does not run, or is wrong.

    `kernel` is the template that the builds were made from; its original is the oracle where there is no reference. What is for
    every workload must also stand the `adversaries` that its constraints allow.
    """
    plain = untouched(kernel)
    seeded = [*((w, _SEED) for w in plain.workloads), *((w, adversaries.seed) for w in adversaries.workloads)]
    with ExitStack() as stack:
        pool = stack.enter_context(CompilePool(device, workers=all_cores(), cache_dir=binary_cache, folders=kernel.folders))
        info = pool.describe()
        require_language(kernel, info)
        original = _builder(plain, pool, info.limits)
        default = plain.default_configuration
        prepared = {
            w.name: stack.enter_context(PreparedWorkload.prepare(plain, w, seed, original.binder.geometry(default, w)))
            for w, seed in seeded
        }
        bench = stack.enter_context(Bench(device, list(prepared.values())))
        baseline = establish_original(original, bench, prepared)
        for ready in prepared.values():
            require_right(baseline, bench, ready)
        checking = _Checking(plain, _builder(kernel, pool, info.limits), pool, bench, adversaries.workloads)
        files = {build.file.name: checking.shown_of(build) for build in builds}
    oracle = "the NumPy reference" if plain.reference.file else "the original kernel"
    return {"device": device, "device_description": info.description, "seed": _SEED, "oracle": oracle, "files": files}


@dataclass(frozen=True, slots=True)
class _Checking:
    plain: Kernel
    searched: Builder  # of the template, as the run used it
    pool: CompilePool
    bench: Bench
    adversaries: tuple[Workload, ...]

    def shown_of(self, build: Build) -> dict[str, Any]:
        alone = replace(
            self.plain,
            source=build.file,
            entry=build.entry,
            arguments=build.arguments,
            launch=build.launch,
            defines={},  # the file has them
            include_dirs=(),
        )
        builder = _builder(alone, self.pool, self.searched.binder.limits)
        workloads = [workload for workload in alone.workloads if workload.name in build.workloads]
        if len(workloads) == len(alone.workloads):
            workloads += self._adversaries_of(build)
        where = Location(build.file)
        candidate = builder.build(alone.default_configuration, workloads)
        if not isinstance(candidate, Candidate):
            raise WarpsmithError(f"the exported source does not compile: {candidate.reason}", location=where)
        errors = {}
        for workload in workloads:
            verdict = self.bench.verify(candidate, workload.name)
            if not isinstance(verdict, Verdict):
                raise WarpsmithError(f"the exported source fails on workload {workload.name!r}: {verdict.reason}", location=where)
            if not verdict.passed:
                raise WarpsmithError(f"the exported source is wrong: {WrongResult(verdict).reason}", location=where)
            errors[workload.name] = verdict.max_error
        return {"verified": True, "max_error": errors, "same_tokens": self._same_tokens(build, builder)}

    def _adversaries_of(self, build: Build) -> list[Workload]:
        binder = self.searched.binder
        space = space_of(binder.kernel, self.searched.template, binder.limits)
        return [w for w in self.adversaries if space.allows(binder.names(build.configuration, w))]

    def _same_tokens(self, build: Build, builder: Builder) -> bool:
        """Whether it is, token by token, what the run measured. Where a source asks for its own line number, it may not be."""
        workload = builder.binder.kernel.workloads[0]
        measured = self.searched.requests.of(build.configuration, [workload])[workload.name]
        exported = builder.requests.original(workload)
        return first_difference(self.pool.preprocess(measured), self.pool.preprocess(exported)) is None


def _builder(kernel: Kernel, pool: CompilePool, limits: Limits) -> Builder:
    return Builder(Binder(kernel, limits), template_of(kernel), pool)
