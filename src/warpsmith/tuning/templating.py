"""From a kernel to its template: passes are applied one by one, and only what the device shows to be right is kept.

After each pass the default must still be the original, token by token, and every new value and every new form must compile and
give right results on the smallest tuning workload. What does not is dropped; a pass of which nothing is left did not apply, and
says why. So a template is never broken because a pass is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.application import apply_pass
from warpsmith.refactor.base import Pass, Tunable
from warpsmith.refactor.combine import combined
from warpsmith.refactor.draft import Application, Draft
from warpsmith.refactor.emit import write_template
from warpsmith.refactor.registry import in_order
from warpsmith.refactor.values import nearest_with, with_possible_values
from warpsmith.space import space_of
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import Certificate, Template, template_of
from warpsmith.tuning.combinations import Combinations, away
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, ignore
from warpsmith.tuning.probes import Lab, Probe, require_language


@dataclass(frozen=True, slots=True)
class Templated:
    """A template that lies in a folder, and how it came about. `kernel` is loaded from there: any command takes it."""

    kernel: Kernel
    template: Template
    certificate: Certificate
    parameters: tuple[Tunable, ...]
    draft: Draft

    @property
    def applications(self) -> tuple[Application, ...]:
        return self.draft.applications


def templatize(
    kernel: Kernel, lab: Lab, *, passes: Sequence[Pass], folder: Path, combinations: int = 24, emit: Emit = ignore
) -> Templated:
    """`combinations` of all parameters are tried together in the end; a search that verifies as it goes needs none.

    Raises InputError when the device does not take the kernel's language, or the original breaks one of its limits.
    """
    require_language(kernel, lab.info)
    draft = Draft.of(kernel, lab.info.limits)
    ordered = in_order(passes)
    emit(StageStarted("template", len(ordered) + 1))
    for number, transform in enumerate(ordered):
        emit(StageAdvanced(number, transform.name))
        draft = _kept(draft, apply_pass(draft, transform), transform.name, lab)
    emit(StageAdvanced(len(ordered), "all of them together"))
    if combinations and draft.origins:
        draft = Combinations(lab, combinations, np.random.default_rng(0)).settled(draft)
    found = combined(draft)
    probe = Probe(found, lab)
    difference = probe.difference()
    assert difference is None, difference  # every pass was held to it
    written = load_kernel(write_template(found, folder))
    certificate = Certificate("tokens", "same tokens after preprocessing")
    return Templated(written, replace(template_of(written), certificate=certificate), certificate, found.parameters, draft)


def template_entry(made: Templated) -> dict[str, Any]:
    """The facts of `warpsmith templatize --json`."""
    original, template = made.draft.kernel.source, made.template
    diff = difflib.unified_diff(
        read_source(original).split("\n"), template.source.split("\n"), original.name, template.path.name, lineterm=""
    )
    space = space_of(made.kernel, template, made.draft.limits)
    return {
        "template": str(template.path),
        "kernel_toml": str(made.kernel.path),
        "certificate": asdict(made.certificate),
        "configurations": {"feasible": space.size, "all": space.cartesian_size},
        "parameters": {
            p.name: {
                "values": list(p.values),
                "default": p.default,
                "meaning": p.meaning,
                "pass": made.draft.origins[p.name],
                "line": p.line,
            }
            for p in made.parameters
        },
        "constraints": [{"expr": str(c.expression), "reason": c.reason} for c in template.constraints],
        "passes": {
            "applied": [
                {"name": a.name, "parameters": list(a.parameters), "notes": list(a.notes)} for a in made.applications if a.applied
            ],
            "not_applied": [{"name": a.name, "reason": a.reason, "line": a.line} for a in made.applications if not a.applied],
        },
        "diff": "\n".join(diff),
    }


def _kept(before: Draft, after: Draft, name: str, lab: Lab) -> Draft:
    """What a pass made, as far as the device finds it right."""
    if not after.applications[-1].applied:
        return after
    return _Trial(before, after, name, lab).result()


class _Trial:
    def __init__(self, before: Draft, after: Draft, name: str, lab: Lab) -> None:
        self._before = before
        self._draft = with_possible_values(after)
        self._name = name
        self._lab = lab
        self._dropped: list[str] = []

    def result(self) -> Draft:
        new = [name for name in self._draft.origins if name not in self._before.origins]
        if not new:
            return self._before.not_applied(self._name, "no workload and no limit of the device allows another value")
        probe = Probe(combined(self._draft), self._lab)
        difference = probe.difference()
        if difference is not None:
            return self._before.not_applied(self._name, f"it changes the kernel at its defaults: {difference}")
        self._try_values(probe, new)
        self._try_forms(probe)
        left = tuple(name for name in new if name in self._draft.origins)
        if not left:
            return self._before.not_applied(self._name, f"nothing it made is right here; {'; '.join(self._dropped)}")
        *earlier, last = self._draft.applications
        notes = (*last.notes, *self._dropped)
        return replace(self._draft, applications=(*earlier, replace(last, parameters=left, notes=notes)))

    def _try_values(self, probe: Probe, new: Iterable[str]) -> None:
        """Every new value, with the least else changed."""
        tried = [
            (p.name, value, nearest_with(probe.space, p.name, value))
            for p in probe.found.parameters
            if p.name in new
            for value in p.values
            if value != p.default
        ]
        probe.prefetch(configuration for _, _, configuration in tried if configuration is not None)
        for name, value, configuration in tried:
            if configuration is not None and (problem := probe.problem(configuration)) is not None:
                self._dropped.append(f"{name}={value} {problem}")
                self._draft = self._draft.without(name, value)

    def _try_forms(self, probe: Probe) -> None:
        """Every new form as a whole: one that is right in the original may not be in what an earlier pass made of it."""
        old = [branch.guard for branch in self._before.branches]
        for branch in self._draft.branches[1:]:
            guard = {name: self._draft.groups[name][key][0] for name, key in branch.guard.items()}
            configuration = Configuration.of({**probe.space.default, **guard})
            if branch.guard in old or len(away(configuration, probe.space.default)) < 2 or configuration not in probe.space:
                continue  # of one parameter, it was tried as a value
            if (problem := probe.problem(configuration)) is not None:
                self._dropped.append(f"{' '.join(f'{n}={v}' for n, v in guard.items())} {problem}")
                self._draft = self._draft.without_form(branch.guard)
