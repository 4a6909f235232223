"""Which passes apply to a kernel or to one of its forms, determined before planning."""

from __future__ import annotations

from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Stage
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.values import with_possible_values
from warpsmith.refactor.on_form import OnForm
from warpsmith.refactor.proposal import Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.planning import PassReport


def passes_for(kernel: Kernel, limits: Limits, form: Proposal | None = None) -> list[PassReport]:
    """All passes; what has nothing to do here says so before a plan is made, without a device.

    They are asked about the kernel, or about a form that an agent wrote, with its numbers lifted, and then about the forms that
    each restructuring before them makes: what they need may be there only.
    """
    draft = Draft.of(kernel, limits)
    passes = load_passes()
    if form is not None:
        draft = apply_pass(draft, ProposedForms((form,)))
        passes = [OnForm(transform, form.number) for transform in passes]
    restructured: list[Draft] = []
    found = []
    for transform in passes:
        tried = apply_pass(draft, transform)
        reason = tried.applications[-1].reason
        if reason is None and not _possible(draft, tried):
            reason = "no other value is feasible for any workload on this device"
        if transform.stage is Stage.LIFT:
            draft = tried
        elif transform.stage is Stage.RESTRUCTURE and reason is None:
            restructured.append(tried)
        elif reason is not None and any(apply_pass(d, transform).applications[-1].reason is None for d in restructured):
            reason = None
        found.append(PassReport(transform.name, transform.summary, transform.concerns, declined=reason))
    return found


def _possible(before: Draft, after: Draft) -> bool:
    """Whether some configuration has something new in it."""
    return any(name not in before.origins for name in with_possible_values(after).origins)
