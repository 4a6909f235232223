"""A template written by a client: stored with a kernel.toml derived from the user's, and tried before it is searched.

A client gives device code and declarations, nothing else: arguments, workloads, the reference and all paths are the user's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from warpsmith.compile.binding import Binder
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.refactor.confined.reader import problem_with_form
from warpsmith.refactor.drafting.combine import Refactored
from warpsmith.refactor.drafting.draft import SUBMITTED, Draft
from warpsmith.refactor.drafting.emit import kernel_toml, template_path
from warpsmith.refactor.drafting.values import nearest_with
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.space import Space, space_of
from warpsmith.spec.bundled import FILE_NAME
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.template import first_difference, template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.templates.probes import Lab, problem_with


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """It lies in a folder and can be searched. `left_out` are values that failed, by `NAME=value`, with the reason."""

    kernel: Kernel
    certificate: str
    space: Space
    left_out: dict[str, str] = field(default_factory=dict)


def lay_down(kernel: Kernel, given: Proposal, folder: Path, lab: Lab) -> OwnTemplate:
    """Raises InputError with what is wrong: it does not load, is not the original at its defaults, or does not compile there."""
    limits = lab.info.limits
    if (problem := problem_with_form(given, untouched(kernel), limits, is_whole_template=True)) is not None:
        raise InputError(problem)
    trying = _Trying(_written(kernel, given, folder, limits), lab)
    certificate = trying.certificate()
    left_out = trying.failing_values()
    if not left_out:
        return OwnTemplate(trying.kernel, certificate, trying.space)
    kept = [replace(t, values=tuple(v for v in t.values if f"{t.name}={v}" not in left_out)) for t in given.tunables]
    again = _written(kernel, replace(given, tunables=tuple(kept)), folder, lab.info.limits)
    return OwnTemplate(again, certificate, space_of(again, template_of(again), lab.info.limits), left_out)


def _written(kernel: Kernel, given: Proposal, folder: Path, limits: Limits) -> Kernel:
    draft = Draft.of(kernel, limits)
    origins = {tunable.name: SUBMITTED for tunable in given.tunables}
    entry = given.entry or draft.kernel.entry
    found = Refactored(replace(draft, origins=origins), entry, given.grid, given.block, given.shared, given.tunables, given.rules)
    template_path(folder, kernel).write_text(given.source, encoding="utf-8")
    target = folder / FILE_NAME
    target.write_text(kernel_toml(found, folder), encoding="utf-8")
    return load_kernel(target)


class _Trying:
    """On the smallest workloads and odd shapes: a run certifies on all of them, and verifies whatever it evaluates."""

    def __init__(self, kernel: Kernel, lab: Lab) -> None:
        self.kernel = kernel
        self._lab = lab
        template = template_of(kernel)
        self.space = space_of(kernel, template, lab.info.limits)
        self._builder = Builder(Binder(kernel, lab.info.limits), template, lab.pool)
        self._workloads = [workload for workload in kernel.workloads if workload.name in lab.prepared]

    def certificate(self) -> str:
        requests, first = self._builder.requests, self._workloads[0]
        twin = self._builder.build_template_default(self._workloads)
        if (problem := problem_with(twin, self._workloads, self._lab.bench)) is not None:
            raise InputError(
                f"the template at its defaults is not the original: {problem}",
                hint="guard every change with #if, so that the defaults leave the kernel unchanged",
            )
        original = self._lab.pool.preprocess(requests.original(first))
        templated = self._lab.pool.preprocess(requests.templated(self.space.default, first))
        difference = first_difference(original, templated)
        if difference is None:
            return "same tokens after preprocessing"
        return f"right on the smallest workloads; a run must still show equal code or bitwise equal outputs, for at {difference}"

    def failing_values(self) -> dict[str, str]:
        """Every value once, with the least else changed. Values that no configuration has are not among them."""
        waiting = {
            f"{p.name}={value}": configuration
            for p in self.kernel.parameters
            for value in p.values
            if value != p.default and (configuration := nearest_with(self.space, p.name, value)) is not None
        }
        for configuration in waiting.values():
            self._builder.prefetch(configuration, self._tried_on(configuration))
        tried = {name: self._problem(configuration) for name, configuration in waiting.items()}
        return {name: problem for name, problem in tried.items() if problem is not None}

    def _problem(self, configuration: Configuration) -> str | None:
        workloads = self._tried_on(configuration)
        return problem_with(self._builder.build(configuration, workloads), workloads, self._lab.bench)

    def _tried_on(self, configuration: Configuration) -> list[Workload]:
        names = self._builder.binder.names
        return [*self._workloads, *(w for w in self._lab.adversaries if self.space.allows(names(configuration, w)))]
