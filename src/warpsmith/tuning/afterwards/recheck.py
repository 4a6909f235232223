"""Verifies exported files on the device once more, on every workload including held-out ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.compile.binding import Binder
from warpsmith.core.errors import Location, WarpsmithError
from warpsmith.core.outcome import Verdict, WrongResult
from warpsmith.devices.base import Binary, CompileRequest
from warpsmith.export.base import Build
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.spec.kernel import Workload
from warpsmith.template import first_difference
from warpsmith.tuning.afterwards.choices import RunChoices
from warpsmith.tuning.afterwards.stand import Stand, stand_for
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.original import establish_original, require_right
from warpsmith.verify.seeds import fresh_seed


@dataclass(frozen=True, slots=True)
class Adversaries:
    """Workloads that a tester added to a run's verification, with the run's seed: its inputs the original can do."""

    workloads: tuple[Workload, ...] = ()
    seed: int = 0


def recheck(
    choices: RunChoices, builds: Sequence[Build], device: str, *, binary_cache: Path, adversaries: Adversaries
) -> dict[str, Any]:
    """The verification results of the builds. Raises WarpsmithError if one does not compile, does not run, or is wrong.

    `choices` are what the builds were made from; the original is the oracle where there is no reference. What is for every
    workload must also stand the `adversaries` that its constraints allow.
    """
    seed = fresh_seed()  # the exported files meet inputs that nothing was chosen by
    with stand_for(choices, device, binary_cache=binary_cache) as stand:
        declared = [(workload, seed) for workload in stand.plain.workloads]
        with stand.bench([*declared, *((w, adversaries.seed) for w in adversaries.workloads)]) as (bench, prepared):
            baseline = establish_original(stand.builder_of_original, bench, prepared, is_known=True)
            for ready in prepared.values():
                require_right(stand.builder_of_original, baseline, bench, ready)
            checking = _Checking(stand, choices, bench, adversaries.workloads)
            files = {_name_among(build, builds): checking.shown_of(build) for build in builds}
    about = {"device": device, "device_description": stand.info.description, "seed": seed, "oracle": stand.oracle}
    return {**about, "files": files}


def _name_among(build: Build, builds: Sequence[Build]) -> str:
    """The file's; with the entry where one file holds several."""
    alone = sum(other.file == build.file for other in builds) == 1
    return build.file.name if alone else f"{build.file.name}: {build.entry}"


def adversaries_of(build: Build, choices: RunChoices, stand: Stand, adversaries: Sequence[Workload]) -> list[Workload]:
    """Those that the constraints allow the configuration on, if it is for every workload."""
    if any(workload.name not in build.workloads for workload in stand.plain.workloads):
        return []
    limits = stand.info.limits
    names, feasible = Binder(choices.kernel, limits).names, choices.feasible(limits)
    return [w for w in adversaries if feasible.allows(names(build.configuration, w))]


@dataclass(frozen=True, slots=True)
class _Checking:
    stand: Stand
    choices: RunChoices
    bench: Bench
    adversaries: tuple[Workload, ...]

    def shown_of(self, build: Build) -> dict[str, Any]:
        builder = self.stand.builder_of_export(build)
        alone = builder.binder.kernel
        workloads = [workload for workload in alone.workloads if workload.name in build.workloads]
        workloads += adversaries_of(build, self.choices, self.stand, self.adversaries)
        where = Location(build.file)
        self._require_held_to_the_original(build, builder)
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

    def _require_held_to_the_original(self, build: Build, builder: Builder) -> None:
        """What ships of a text that others wrote is judged as it ships, before any format adds code of ours to it."""
        measured = self._measured(build, builder)
        if measured.held_to is None:
            return
        alone = self.choices.standalone(build.configuration)
        shipped = replace(measured, source=alone.text, entry=alone.entry, defines=measured.held_to.defines, meaning=None)
        outcome = self.stand.pool.compile(shipped)
        if not isinstance(outcome, Binary):
            raise WarpsmithError(f"the exported source does not compile: {outcome.reason}", location=Location(build.file))

    def _measured(self, build: Build, builder: Builder) -> CompileRequest:
        workload = builder.binder.kernel.workloads[0]
        return self.stand.builder(self.choices).requests.of(build.configuration, [workload])[workload.name]

    def _same_tokens(self, build: Build, builder: Builder) -> bool:
        """Whether it is, token by token, what the run measured. Where a source asks for its own line number, it may not be."""
        workload = builder.binder.kernel.workloads[0]
        measured, exported = self._measured(build, builder), builder.requests.original(workload)
        pool = self.stand.pool
        return first_difference(pool.preprocess(measured), pool.preprocess(exported)) is None
