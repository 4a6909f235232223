"""Make a template of an untouched kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpsmith.core.output_folder import require_output_folder
from warpsmith.refactor.drafting.emit import check_folder
from warpsmith.refactor.on_form import everywhere
from warpsmith.refactor.proposal import ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.settings import read_settings
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.agents import RULES, load_agent
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.events import Emit, ignore
from warpsmith.tuning.rounds.desk import desk_without_record
from warpsmith.tuning.rounds.writing import form_by
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.tuning.templates.templating import template_entry
from warpsmith.tuning.templates.templating import templatize as make_template


def templatize(
    kernel: Kernel,
    *,
    device: str = "cpu",
    passes: Iterable[str] | None = None,
    agent: str = RULES,
    allowance: Allowance | None = None,
    output: Path | None = None,
    proved_only: bool = False,
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Make a template of the untouched kernel and return the object that `warpsmith templatize --json` prints.

    `passes` names the refactoring passes to try (all of them when not given), `output` the folder for source and kernel.toml.
    `proved_only` leaves out what the passes conjecture and only test. An `agent` other than the
    rules first writes a form of its own, within its `allowance`; passes then work on both forms.
    """
    settings = read_settings()
    folder = output or settings.template_folder(kernel.name)
    chosen = load_passes(passes)
    # Mistakes of the user's, so before anything is compiled.
    require_output_folder(folder)
    check_folder(folder, kernel)
    author = load_agent(agent, desk_without_record(allowance or Allowance(), emit), alone=True) if agent != RULES else None
    with laboratory(kernel, device, binary_cache=settings.binary_cache) as lab:
        found = form_by(author, kernel, lab) if author is not None else None
        if found is not None and found.problem is None:
            chosen = [*everywhere(chosen, [found.proposal.number]), ProposedForms((found.proposal,))]
        made = make_template(kernel, lab, passes=chosen, folder=folder, effort=Effort(proved_only=proved_only), emit=emit)
    form = {"hypothesis": found.proposal.hypothesis, "problem": found.problem} if found is not None else None
    return {"kernel": kernel.name, "device": device, "agent": agent, "form": form, **template_entry(made)}
