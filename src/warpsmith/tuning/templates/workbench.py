"""Makes templates of a run's kernel on the run's own bench, and tries the forms that an agent writes before they enter one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.values import nearest_with
from warpsmith.refactor.proposal import FORM, PROPOSALS, Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.cores import divide_cores
from warpsmith.tuning.events import Emit, ignore
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import Lab, Probe
from warpsmith.tuning.templates.templating import settled_draft, templatize

_LONGEST_REPORT = 4000  # characters of a compiler's output that are worth a reader's time


@dataclass(frozen=True, slots=True)
class Workbench:
    """Implements `tuning.agent.agenda.Templating`."""

    kernel: Kernel  # untouched
    lab: Lab
    emit: Emit = ignore

    def make(
        self, passes: Sequence[str], proposals: Sequence[Proposal], folder: Path, effort: Effort
    ) -> tuple[Path, Mapping[str, Any]]:
        """Passes and forms as a template in a folder: its kernel.toml, and what each pass did or why it did not apply."""
        chosen = [*load_passes(passes), *([ProposedForms(proposals)] if proposals else [])]
        with self.lab.pool.reinforced(divide_cores().measuring):
            made = templatize(self.kernel, self.lab, passes=chosen, folder=folder, effort=effort, emit=self.emit)
        applied = [a.name for a in made.applications if a.applied]
        declined = {a.name: a.reason for a in made.applications if a.reason is not None}
        return made.kernel.path, {"applied": applied, "declined": declined}

    def moves(self) -> Draft:
        """All that the passes make of the kernel and the device finds right, for an agent that picks single points of it."""
        with self.lab.pool.reinforced(divide_cores().measuring):
            return settled_draft(self.kernel, self.lab, passes=load_passes(), effort=Effort(combinations=0), emit=self.emit)

    def problem_of(self, proposal: Proposal) -> str | None:
        """What keeps a form from being searched; None when it compiles and is right, without races, on the smallest workloads."""
        draft = apply_pass(Draft.of(self.kernel, self.lab.info.limits), ProposedForms((proposal,)))
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
        problem = probe.problem(configuration)
        race = probe.race(configuration) if problem is None else None
        found = problem.text if problem is not None else f"right here, but threads race: {race}" if race is not None else None
        if found is None:
            return None
        values = {name: value for name, value in configuration.pairs if name != FORM}
        stated = f" (with {' '.join(f'{name}={value}' for name, value in values.items())})" if values else ""
        return f"{found[:_LONGEST_REPORT]}{stated}"


def _infeasible(probe: Probe, proposal: Proposal) -> str:
    own = {tunable.name: tunable.default for tunable in proposal.tunables}
    broken = probe.explain({FORM: proposal.number, **own})
    return f"no combination of its values is allowed; at its defaults: {'; '.join(broken)}"
