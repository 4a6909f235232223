"""Tools that make templates: by passes, by forms that a client writes, or from a complete template."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from warpsmith.compile.binding import Binder
from warpsmith.core.errors import InputError
from warpsmith.isolation.confinement import require_confinement
from warpsmith.mcp import replies
from warpsmith.mcp.calls import advance
from warpsmith.mcp.labs import Labs
from warpsmith.mcp.own_template import OwnTemplate, lay_down
from warpsmith.mcp.tools.kernels import DeviceName, KernelName, ProvedOnly
from warpsmith.mcp.workspace import Workspace
from warpsmith.measure.bench import Candidate
from warpsmith.refactor.base import Rule, Tunable
from warpsmith.refactor.on_form import everywhere
from warpsmith.refactor.proposal import Proposal, ProposedForms, with_own_names
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.kernel import Kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.rounds.trials import FormTrial, try_out
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import Lab
from warpsmith.tuning.templates.templating import MadeTemplate, template_entry, templatize
from warpsmith.tuning.templates.workbench import Workbench

_LONGEST_SOURCE = 400_000
_MEND = "fix what `problem` says and submit it again"


class Parameter(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Used in the source and not defined there: TILE.")
    values: tuple[int, ...] = Field(min_length=1, max_length=64)
    default: int
    meaning: str = ""


class Constraint(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    expr: str = Field(description="Over parameters, workload sizes and device limits, such as `d % VEC == 0`.")
    reason: str = ""


Source = Annotated[
    str, Field(max_length=_LONGEST_SOURCE, description="The whole file, with the kernel's name and arguments unchanged.")
]


def _expressions(value: Any) -> Any:
    """One where several may stand, and numbers: both have one meaning only."""
    several = value if isinstance(value, (list, tuple)) else [value]
    return [str(part) if isinstance(part, int) and not isinstance(part, bool) else part for part in several]


Extents = Annotated[
    tuple[str, ...],
    BeforeValidator(_expressions),
    Field(min_length=1, max_length=3, description="Over parameters, sizes and limits: `ceildiv(n, BLOCK)`."),
]
Shared = Annotated[str, Field(description="Dynamic shared memory in bytes, an expression.")]


class TemplateTools:
    def __init__(self, workspace: Workspace, labs: Labs) -> None:
        self._workspace = workspace
        self._labs = labs

    def make_template(
        self,
        kernel: KernelName,
        passes: Annotated[
            list[str] | None,
            Field(
                description="From list_passes, on every form; `unroll@2`: on the 2nd form. Omit for all; empty: only the forms."
            ),
        ] = None,
        forms: Annotated[tuple[str, ...], Field(description="From submit_form: each becomes a value of FORM.")] = (),
        device: DeviceName = "cpu",
        proved_only: ProvedOnly = False,
    ) -> replies.Template:
        """Make the kernel's choices explicit: a folder with a template whose defaults are the original, proved token by token.

        Every new value is compiled and verified on the smallest workloads, and what fails is left out. Give the answer's `kernel`
        to start_tuning. To go from the untouched kernel in rounds, start_tuning on the kernel itself does all of this alone.
        """
        if forms:
            require_confinement()
        loaded = self._workspace.kernel(kernel)
        chosen = load_passes(passes)
        proposals = [self._workspace.form(loaded, name, number) for number, name in enumerate(dict.fromkeys(forms), start=1)]
        folder = self._workspace.new_folder("templates", loaded.name)
        with self._labs.lab(loaded, device) as lab:
            written = [ProposedForms(with_own_names(proposals))] if proposals else []
            transforms = [*everywhere(chosen, (proposal.number for proposal in proposals)), *written]
            effort = Effort(proved_only=proved_only)
            made = templatize(loaded, lab, passes=transforms, folder=folder, effort=effort, emit=advance)
        return _template(made, folder)

    def submit_form(
        self,
        kernel: KernelName,
        source: Source,
        grid: Extents,
        block: Extents,
        shared: Shared = "0",
        parameters: Annotated[tuple[Parameter, ...], Field(max_length=24)] = (),
        constraints: Annotated[tuple[Constraint, ...], Field(max_length=48)] = (),
        hypothesis: Annotated[str, Field(max_length=2000, description="Hypothesis: why it should be faster.")] = "",
        device: DeviceName = "cpu",
    ) -> replies.Submission:
        """Try a form of the kernel that you wrote: the same function computed another way, its numbers left as parameters.

        Write plain code without #if for your choices: names stand for the values, and alternatives are forms of their own. It is
        compiled, verified on the smallest workloads and watched for races; `problem` says what to fix before the next attempt.
        For an accepted form `trial` has a time against the original and the compiler's figures; pass it to make_template; the
        original stays the default.
        """
        require_confinement()
        loaded = self._workspace.kernel(kernel)
        proposal = _proposal(source, grid, block, shared, parameters, constraints, hypothesis=hypothesis)
        plain = untouched(loaded)
        with self._labs.lab(loaded, device) as lab:
            trial = try_out(Workbench(plain, lab), proposal, lambda: _original(plain, lab), np.random.default_rng())
            verified_on = list(lab.prepared) if trial.problem is None else []
        if trial.problem is not None:
            return replies.Submission(accepted=False, problem=trial.problem, next=_MEND)
        form = self._workspace.keep_form(loaded, proposal)
        then = f"make_template with forms=[{form!r}], together with other accepted forms of this kernel"
        return replies.Submission(accepted=True, form=form, verified_on=verified_on, trial=_trial(trial), next=then)

    def submit_template(
        self,
        kernel: KernelName,
        source: Source,
        grid: Extents,
        block: Extents,
        parameters: Annotated[tuple[Parameter, ...], Field(min_length=1, max_length=48)],
        shared: Shared = "0",
        constraints: Annotated[tuple[Constraint, ...], Field(max_length=96)] = (),
        entry: Annotated[
            str, Field(description="The entry, if it uses parameters, such as `k<float, BLOCK>`; empty: unchanged.")
        ] = "",
        device: DeviceName = "cpu",
    ) -> replies.Submission:
        """Try a whole template that you wrote, with #if branches of its own. Prefer submit_form: its identity needs no proof.

        At the parameters' defaults it must be the original kernel. It is written to a folder of the server's own beside a
        kernel.toml made from the user's; defaults and every value are compiled and verified on the smallest workloads.
        """
        require_confinement()
        loaded = self._workspace.kernel(kernel)
        given = _proposal(source, grid, block, shared, parameters, constraints, entry=entry)
        folder = self._workspace.new_folder("templates", loaded.name)
        with self._labs.lab(loaded, device) as lab:
            try:
                made = lay_down(loaded, given, folder, lab)
            except InputError as error:
                return replies.Submission(accepted=False, problem=str(error), next=_MEND)
            verified_on = list(lab.prepared)
        template = _own_template(made)
        return replies.Submission(
            accepted=True, template=template, left_out=made.left_out, verified_on=verified_on, next=_search(template.kernel)
        )


def _proposal(
    source: str,
    grid: tuple[str, ...],
    block: tuple[str, ...],
    shared: str,
    parameters: tuple[Parameter, ...],
    constraints: tuple[Constraint, ...],
    *,
    hypothesis: str = "",
    entry: str = "",
) -> Proposal:
    return Proposal(
        number=1,
        source=source,
        grid=grid,
        block=block,
        shared=shared,
        tunables=tuple(Tunable(p.name, p.values, p.default, " ".join(p.meaning.split())) for p in parameters),
        rules=tuple(Rule(c.expr, " ".join(c.reason.split())) for c in constraints),
        hypothesis=hypothesis,
        entry=entry,
    )


def _original(plain: Kernel, lab: Lab) -> Candidate | None:
    builder = Builder(Binder(plain, lab.info.limits), template_of(plain), lab.pool)
    built = builder.build(plain.default_configuration, [ready.workload for ready in lab.prepared.values()])
    return built if isinstance(built, Candidate) else None


def _trial(trial: FormTrial) -> replies.Trial:
    ratio = trial.overall
    known = asdict(trial.resources) if trial.resources is not None else {}
    remarks = list(known.pop("remarks", ()))
    is_certain = ratio is not None and ratio.low > 0 and math.isfinite(ratio.high)
    return replies.Trial(
        config=trial.values,
        speedup=round(1 / ratio.value, 3) if ratio is not None else None,
        ci95=(round(1 / ratio.high, 3), round(1 / ratio.low, 3)) if ratio is not None and is_certain else None,
        times_us={name: round(time.candidate_us, 2) for name, time in trial.times.items()},
        compiler={name: value for name, value in known.items() if value is not None},
        remarks=remarks,
    )


def _search(kernel: str) -> str:
    return f"start_tuning with kernel={kernel!r}"


def _own_template(made: OwnTemplate) -> replies.Template:
    kernel = made.kernel
    return replies.Template(
        kernel=str(kernel.path),
        source_path=str(kernel.template_source),
        diff_path=None,
        parameters=[replies.ParameterFacts(name=p.name, values=list(p.values), default=p.default) for p in kernel.parameters],
        constraints=[f"{c.expression}   {c.reason}".strip() for c in kernel.constraints],
        certificate=made.certificate,
        feasible=made.space.size,
        all=made.space.cartesian_size,
        applied=[],
        not_applied={},
        notes=[],
    )


def _template(made: MadeTemplate, folder: Path) -> replies.Template:
    entry = template_entry(made)
    diff = folder / "template.diff"
    diff.write_text(entry["diff"] + "\n", encoding="utf-8")
    return replies.Template(
        kernel=entry["kernel_toml"],
        source_path=entry["template"],
        diff_path=str(diff),
        parameters=[
            replies.ParameterFacts(
                name=name, values=p["values"], default=p["default"], meaning=p["meaning"], assumes=p["assumes"]
            )
            for name, p in entry["parameters"].items()
        ],
        constraints=[f"{c['expr']}   {c['reason']}" for c in entry["constraints"]],
        certificate=made.certificate.detail,
        feasible=entry["configurations"]["feasible"],
        all=entry["configurations"]["all"],
        applied=[p["name"] for p in entry["passes"]["applied"]],
        not_applied={p["name"]: p["reason"] for p in entry["passes"]["not_applied"]},
        notes=[f"{p['name']}: {note}" for p in entry["passes"]["applied"] for note in p["notes"]],
        next=_search(entry["kernel_toml"]),
    )
