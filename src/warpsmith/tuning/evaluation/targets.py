"""The targets of `--also-compile`, which need no hardware. Configurations that cannot run on all of them are not measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from warpsmith.analysis import parse_target
from warpsmith.analysis.inspection import Inspector
from warpsmith.analysis.report import Compiling
from warpsmith.analysis.targets import Target
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Language, Limits
from warpsmith.record.result import Claims, CompiledTarget
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.evaluation.cores import Cores

RequestsOn: TypeAlias = Callable[[Limits], Requests]
"""What is compiled for a device with such limits."""


@dataclass(frozen=True, slots=True)
class CompileTarget:
    target: Target
    pool: CompilePool

    @property
    def limits(self) -> Limits:
        return self.target.limits(self.pool.describe().limits)

    def inspector(self, kernel: Kernel, requests: RequestsOn) -> Inspector:
        """Of all workloads, held out or not: what ships must run on every declared shape."""
        return Inspector(requests(self.limits), self.limits, self.pool, kernel.workloads)


@dataclass(frozen=True, slots=True)
class Targets:
    """Those of one run, ready to compile."""

    each: tuple[CompileTarget, ...] = ()

    @property
    def limits(self) -> dict[str, Limits]:
        return {one.target.name: one.limits for one in self.each}

    def inspectors(self, kernel: Kernel, requests: RequestsOn) -> dict[str, Inspector]:
        return {one.target.name: one.inspector(kernel, requests) for one in self.each}

    def entries(self, inspectors: Mapping[str, Inspector], claims: Claims) -> tuple[CompiledTarget, ...]:
        """For the run's result: what the original and the winners use on each target."""
        chosen = [claims.general, *claims.per_workload.values()]
        winners = dict.fromkeys(Configuration.of(claim.config) for claim in chosen)
        original = Configuration.of(claims.baseline.config)
        return tuple(
            CompiledTarget(
                target=one.target.name,
                device=one.target.device,
                description=one.target.gpu.description if one.target.gpu else one.pool.describe().description,
                versions=dict(one.pool.describe().versions),
                original=inspectors[one.target.name].report(original).entry(),
                configurations=tuple(inspectors[one.target.name].report(winner).entry() for winner in winners),
            )
            for one in self.each
        )


NO_TARGETS = Targets()


@contextmanager
def open_targets(names: Sequence[str], language: Language, *, cache_dir: Path, cores: Cores) -> Iterator[Targets]:
    """Raises InputError for an unknown target or one without the language, UnavailableError where its compiler is missing."""
    with ExitStack() as stack:
        each = []
        for target in map(parse_target, dict.fromkeys(names)):
            pool = CompilePool(target.device, workers=cores.compilers, cache_dir=cache_dir, cores=cores.compiling)
            target.require_language(language, stack.enter_context(pool).describe().languages)
            each.append(CompileTarget(target, pool))
        yield Targets(tuple(each))


def require_original(inspectors: Mapping[str, Inspector], kernel: Kernel) -> None:
    """The original is a point of the space, so it must be able to run on every target. Raises InputError."""
    default = kernel.default_configuration
    submitted = {name: inspector.submit(default) for name, inspector in inspectors.items()}
    for name, inspector in inspectors.items():
        report = inspector.report(default, submitted[name])
        if report.problem is not None:
            what = "does not compile for" if report.kind is Compiling.FAILED else "cannot run on"
            hint = f"leave {name} out of --also-compile"
            raise InputError(f"the original kernel {what} {name}: {report.problem}", location=Location(kernel.source), hint=hint)
