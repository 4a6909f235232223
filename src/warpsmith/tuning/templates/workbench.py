"""Makes templates of a run's kernel on the run's own bench, and tries the forms that an agent writes before they enter one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from warpsmith.compile.binding import Binder
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.refactor.confined.reader import accesses_of, problem_with_form
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.values import nearest_with
from warpsmith.refactor.proposal import FORM, PROPOSALS, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.source import parse_kernel
from warpsmith.source.lane_strides import Access, lane_accesses
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.template import template_of
from warpsmith.tuning.agent.planning import PassReport
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.events import Emit, ignore
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import Lab, Probe, probe_workloads
from warpsmith.tuning.templates.templating import settled_draft, templatize

_LONGEST_REPORT = 4000  # characters of a compiler's output that are worth a reader's time


class Templating(Protocol):
    """Makes templates of the untouched kernel: `Workbench`, or `templates.shared.SharedTemplates` over it."""

    def problem_of(self, proposal: Proposal) -> str | None:
        """What is wrong with a form that an agent wrote; None when it can be searched."""
        ...

    def passes_on(self, proposal: Proposal) -> list[PassReport]:
        """What passes could do to a form."""
        ...

    def accesses(self, proposal: Proposal | None) -> tuple[Access, ...]:
        """How far apart neighbouring threads touch memory in a form, or in the kernel itself."""
        ...

    def make(
        self, passes: Sequence[str], proposals: Sequence[Proposal], folder: Path, effort: Effort
    ) -> tuple[Path, Mapping[str, Any]]:
        """Writes the template into a folder: its kernel.toml, and a report of every pass that was tried."""
        ...


@dataclass(frozen=True, slots=True)
class Workbench:
    """Implements `Templating`."""

    kernel: Kernel  # untouched
    lab: Lab
    emit: Emit = ignore
    proved_only: bool = False

    def make(
        self, passes: Sequence[str], proposals: Sequence[Proposal], folder: Path, effort: Effort
    ) -> tuple[Path, Mapping[str, Any]]:
        """Passes and forms as a template in a folder: its kernel.toml, and what each pass did or why it did not apply."""
        chosen = [*load_passes(passes), *([ProposedForms(proposals)] if proposals else [])]
        effort = replace(effort, proved_only=self.proved_only)
        with self.lab.pool.reinforced(divide_cores().measuring):
            made = templatize(self.kernel, self.lab, passes=chosen, folder=folder, effort=effort, emit=self.emit)
        applied = [a.name for a in made.applications if a.applied]
        declined = {a.name: a.reason for a in made.applications if a.reason is not None}
        origins = {parameter.name: made.draft.origins[parameter.name] for parameter in made.parameters}
        return made.kernel.path, {"applied": applied, "declined": declined, "origins": origins}

    def moves(self) -> Draft:
        """All that the passes make of the kernel and the device finds right, for an agent that picks single points of it."""
        effort = Effort(combinations=0, proved_only=self.proved_only)
        with self.lab.pool.reinforced(divide_cores().measuring):
            return settled_draft(self.kernel, self.lab, passes=load_passes(), effort=effort, emit=self.emit)

    def passes_on(self, proposal: Proposal) -> list[PassReport]:
        return passes_for(self.kernel, self.lab.info.limits, proposal)

    def accesses(self, proposal: Proposal | None) -> tuple[Access, ...]:
        if proposal is not None:
            return accesses_of(proposal, self.kernel)
        try:
            return lane_accesses(parse_kernel(read_source(self.kernel.source), self.kernel.language, self.kernel.entry))
        except InputError:
            return ()

    def problem_of(self, proposal: Proposal) -> str | None:
        """What keeps a form from being searched; None when it compiles and is right, also to checkers, on small workloads."""
        tried = self.tried(proposal)
        return tried if isinstance(tried, str) else None

    def tried(self, proposal: Proposal) -> Tried | str:
        """A form that can be searched, at the configuration it was tried at; or what keeps it from that."""
        limits = self.lab.info.limits
        if (fault := problem_with_form(proposal, self.kernel, limits)) is not None:
            return fault
        draft = self.draft_with(proposal)
        [tried] = [done for done in draft.applications if done.name == PROPOSALS]
        if FORM not in draft.origins:
            return "; ".join(part for part in (tried.reason, *tried.notes) if part)
        try:
            probe = Probe(combined(draft), self.lab, proposal.source)
        except InputError as error:
            return error.message
        configuration = nearest_with(probe.space, FORM, proposal.number)
        if configuration is None:
            return _infeasible(probe, proposal)
        found = _problem(probe, configuration)
        if found is None:
            return Tried(probe, configuration)
        values = _stated(configuration)
        return f"{found[:_LONGEST_REPORT]}{f' (with {values})' if values else ''}"

    def instructions(self, proposal: Proposal | None) -> list[str] | str:
        """The machine code of a form at its defaults, or of the kernel itself; or why it cannot be shown."""
        if proposal is None:
            builder = Builder(Binder(self.kernel, self.lab.info.limits), template_of(self.kernel), self.lab.pool)
            return self.lab.pool.instructions(builder.requests.original(probe_workloads(self.kernel)[0]))
        draft = self.draft_with(proposal)
        if FORM not in draft.origins:
            return str(draft.applications[-1].reason)
        try:
            probe = Probe(combined(draft), self.lab, proposal.source)
        except InputError as error:
            return error.message
        configuration = nearest_with(probe.space, FORM, proposal.number)
        return _infeasible(probe, proposal) if configuration is None else probe.instructions(configuration)

    def draft_with(self, proposal: Proposal) -> Draft:
        """The kernel, and the form beside it, under its own names: no other form is there that could have them."""
        alone = replace(proposal, names=())
        return apply_pass(Draft.of(self.kernel, self.lab.info.limits), ProposedForms((alone,)))


@dataclass(frozen=True, slots=True)
class Tried:
    """A form that compiled and was right on small workloads."""

    probe: Probe
    configuration: Configuration

    @property
    def values(self) -> str:
        return _stated(self.configuration)


def _problem(probe: Probe, configuration: Configuration) -> str | None:
    problem = probe.problem(configuration)
    if problem is not None and not problem.is_wrong:
        return problem.text
    unseen = probe.unseen_problem(configuration)
    if problem is None:
        return None if unseen is None else f"correct here, but {unseen}"
    # What threads race for is wrong by chance: the race is what can be mended.
    return problem.text if unseen is None else f"{unseen}\nThat may be the cause of the {problem.text}"


def _stated(configuration: Configuration) -> str:
    return " ".join(f"{name}={value}" for name, value in configuration.pairs if name != FORM)


def _infeasible(probe: Probe, proposal: Proposal) -> str:
    own = {tunable.name: tunable.default for tunable in proposal.tunables}
    broken = probe.explain({FORM: proposal.number, **own})
    return f"no combination of its values is feasible; with default values: {'; '.join(broken)}"
