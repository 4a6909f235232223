"""From a kernel to its template: passes are applied one by one, and only what the device shows to be right is kept.

After each pass the default must still be the original, token by token, and every form and every value must compile and give right
results on the smallest workloads (`trial` says when each is tried, `effort` how much is). What does not is dropped; a pass of
which nothing is left did not apply, and says why. So a template is never broken because a pass is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.refactor.base import Pass, Tunable
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Application, Draft
from warpsmith.refactor.drafting.emit import check_folder, write_template
from warpsmith.refactor.registry import in_order
from warpsmith.source.decided_branches import DecidedBranches
from warpsmith.space import space_of
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import Certificate, Template, template_of
from warpsmith.template.difference import difference
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, ignore
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import Lab, Probe, require_language
from warpsmith.tuning.templates.trial import PassTrial


@dataclass(frozen=True, slots=True)
class MadeTemplate:
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
    kernel: Kernel,
    lab: Lab,
    *,
    passes: Sequence[Pass],
    folder: Path,
    effort: Effort = Effort(),  # noqa: B008 - it is frozen
    emit: Emit = ignore,
) -> MadeTemplate:
    """Raises InputError when the device does not take the kernel's language, or the original breaks one of its limits."""
    require_language(kernel, lab.info)
    check_folder(folder, kernel)
    draft = settled_draft(kernel, lab, passes=passes, effort=effort, emit=emit)
    found = combined(draft)
    difference = Probe(found, lab).difference()
    assert difference is None, difference  # every pass was held to it
    written = load_kernel(write_template(found, folder))
    certificate = Certificate("tokens", "same tokens after preprocessing")
    return MadeTemplate(written, replace(template_of(written), certificate=certificate), certificate, found.parameters, draft)


def settled_draft(kernel: Kernel, lab: Lab, *, passes: Sequence[Pass], effort: Effort, emit: Emit = ignore) -> Draft:
    """What the passes make of the kernel and the device finds right, written nowhere yet."""
    started = time.monotonic()
    ordered = in_order(passes)
    emit(StageStarted("template", len(ordered) + 1))
    trial = PassTrial(_untouched(kernel, lab), lab, proved_only=effort.proved_only)
    for number, transform in enumerate(ordered):
        if effort.leaves_out(transform, trial.draft, time.monotonic() - started):
            continue
        emit(StageAdvanced(number, transform.name))
        trial.apply(transform, ordered[number + 1 :])
    emit(StageAdvanced(len(ordered), "all passes together"))
    return trial.settled(effort.combinations)


def _untouched(kernel: Kernel, lab: Lab) -> Draft:
    """With macros written out and `#if`s settled where the device's own preprocessor makes the same tokens of that."""
    draft = Draft.of(kernel, lab.info.limits)
    is_same = draft.branches[0].variant.text == read_source(kernel.source)
    if not is_same and Probe(combined(draft), lab).difference() is not None:
        draft = draft.as_written()
    text = draft.branches[0].variant.text
    branches = DecidedBranches(text, draft.kernel.entry, draft.kernel.defines)
    if not branches:
        return draft
    settled = draft.with_text(branches.settled(Probe(combined(draft), lab, form=branches.marked).tokens()))
    return draft if Probe(combined(settled), lab).difference() is not None else settled


def template_entry(made: MadeTemplate) -> dict[str, Any]:
    """The facts of `warpsmith templatize --json`."""
    original, template = made.draft.kernel.source, made.template
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
                "assumes": p.assumes,
                "pass": made.draft.origins[p.name],
                "line": p.line,
            }
            for p in made.parameters
        },
        "constraints": [constraint.entry for constraint in template.constraints],
        "likely": [expected.entry for expected in template.likely],
        "passes": {
            "applied": [
                {"name": a.name, "parameters": list(a.parameters), "notes": list(a.notes)} for a in made.applications if a.applied
            ],
            "not_applied": [{"name": a.name, "reason": a.reason, "line": a.line} for a in made.applications if not a.applied],
        },
        "diff": difference(original, template.path, template.source),
    }
