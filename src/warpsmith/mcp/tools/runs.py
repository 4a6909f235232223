"""Tools for a run's results: the claim, failures, counters, and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from warpsmith import api
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.export.registry import DEFAULT_FORMAT, exporter_names
from warpsmith.mcp import replies
from warpsmith.mcp.reading import findings_of
from warpsmith.mcp.tools.kernels import DeviceName
from warpsmith.mcp.workspace import Workspace
from warpsmith.record.result import Figures, RunResult, UnfinishedRun
from warpsmith.record.store import Store
from warpsmith.refactor.proposal import FORM
from warpsmith.report.importance_notes import why_unknown
from warpsmith.report.wording import searched_text
from warpsmith.settings import Settings
from warpsmith.space import Space, space_of
from warpsmith.template import template_of
from warpsmith.tuning.afterwards.explain import searched_kernel, searched_space
from warpsmith.tuning.evaluation.round import carried_over

RunName = Annotated[str, Field(description="A name from job_status, or `last` for the latest run.")]
_MOST_REASONS = 8
_LONGEST_REASON = 400


class RunTools:
    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        self._workspace = workspace
        self._settings = settings

    def get_result(self, run: RunName = "last") -> replies.Outcome:
        """What may be reported of a run: speedup with its interval, verified, measured in fresh processes after the search.

        A run that is not finished has no claim. Where the best found may be no gain (its interval includes 1: `uncertain`), the
        original stays, and saying so is a result.
        """
        shown = api.show_run(run)
        found = shown.typed
        template = found.template if isinstance(found, RunResult) else None
        certificate = template.certificate if template is not None else None
        return replies.Outcome(
            run=found.run,
            kernel=found.kernel,
            device=found.device,
            state=found.status,
            summary=_summary(found),
            general=_claim(found.general) if found.general else None,
            uncertain=_claim(found.uncertain) if found.uncertain else None,
            per_workload={w: _claim(claim) for w, claim in found.per_workload.items()},
            heldout={w: _claim(claim) for w, claim in found.heldout.items()},
            evaluations={kind: count for kind, count in found.evaluations.items() if count},
            seconds=found.seconds,
            certificate=certificate.detail if certificate is not None else None,
            template_path=template.path if template is not None else None,
            report_path=shown["report"],
            next=_next(found),
        )

    def explain(
        self,
        run: Annotated[str | None, Field(description="A run; omit it for a kernel's own template.")] = None,
        kernel: Annotated[str | None, Field(description="A template's kernel.toml, if there is no run yet.")] = None,
        configuration: Annotated[
            dict[str, Value] | None,
            Field(description="Parameter values to explain; omit for a summary."),
        ] = None,
        device: DeviceName = "cpu",
    ) -> replies.Explanation:
        """Why configurations were pruned or failed: the rule, the limit and the two numbers; in a run also the compiler's words.

        With a configuration: about that one. Without: the commonest reasons, and what each rule removes. Use it before you widen
        values or loosen constraints.
        """
        if (run is None) == (kernel is None):
            raise InputError("explain needs either a run or a kernel", hint="a run's name, or a template's kernel.toml")
        known: list[Evaluation] = []
        if run is not None:
            with Store(self._settings.database, reading=True) as store:
                record = store.find(run)
                loaded = searched_kernel(record, store)
                space = searched_space(record, loaded)
                known, name = carried_over(store.evaluations(record.run), space), record.run
        else:
            loaded, name = self._workspace.kernel(kernel or ""), None
            space = space_of(loaded, template_of(loaded), api.describe_device(device).limits)
        found = replies.Explanation(kernel=loaded.name, run=name, feasible=space.size, all=space.cartesian_size)
        if configuration is None:
            return found.model_copy(update={"failures": _failures(known), "removed": _removed(space)})
        asked = _meant(space, configuration)
        violations = [f"{violation.constraint}: {violation}" for violation in space.explain(asked)]
        outcome = next((_said(e) for e in known if e.configuration == asked), None)
        return found.model_copy(
            update={
                "configuration": dict(asked.pairs),
                "is_feasible": not violations,
                "violations": violations,
                "outcome": outcome,
            }
        )

    def profile(self, run: RunName = "last") -> replies.Profile:
        """Limits of the best configuration of a run: the compiler's resource report, distance from the roof, which parameters
        mattered, and what the rules find. Read it before you write the next form: it says what to write it against.
        """
        shown = api.show_run(run, importance=True)
        with Store(self._settings.database, reading=True) as store:
            record = store.find(run)
            kernel = searched_kernel(record, store)
            space = searched_space(record, kernel)
            known = carried_over(store.evaluations(record.run), space)
        measured = {e.configuration: e.outcome for e in known if isinstance(e.outcome, Measured)}
        if not measured:
            raise InputError(f"run {record.run} has no measurements yet", hint="poll job_status until it has")
        best, roof = min(measured, key=lambda c: measured[c].score), {}
        if isinstance(found := shown.typed, RunResult):
            best = Configuration.of({**space.default, **found.best.config})
            fractions = {workload: claim.roofline_fraction for workload, claim in found.best.workloads.items()}
            roof = {workload: fraction for workload, fraction in fractions.items() if fraction is not None}
        used = measured[best].resources if best in measured else Resources()
        original = measured[space.default].resources if space.default in measured else Resources()
        return replies.Profile(
            run=record.run,
            kernel=kernel.name,
            state=record.status,
            best=dict(best.pairs),
            resources=_present(used),
            baseline_resources=_present(original),
            median_us=_times(measured.get(best)),
            baseline_us=_times(measured.get(space.default)),
            roofline_fraction=roof,
            influences=_influences(shown["importance"]),
            findings=findings_of(kernel, baseline=original, best=used, roofline_fraction=roof),
        )

    def export_result(
        self,
        run: RunName = "last",
        format_name: Annotated[str, Field(description=f"One of {', '.join(exporter_names())}.")] = DEFAULT_FORMAT,
        force: Annotated[bool, Field(description="Export even without a significant gain. Ask the user first.")] = False,
    ) -> replies.Export:
        """Export a finished run's winner as files that do not need Warpsmith, into a folder of the server.

        Standalone source with its launch; or a C++ header with dispatch by sizes; or a Python package for PyTorch that stands in
        for a function of SGLang or vLLM (`[replaces]` in kernel.toml); or files for other tuners.

        The written files are compiled and verified on every workload before they appear. Copying them into the user's code is the
        last step, and yours. Refused where nothing was verified or gained.
        """
        with Store(self._settings.database, reading=True) as store:
            record = store.find(run)
        name = record.run if format_name == DEFAULT_FORMAT else f"{record.run}-{format_name}"
        folder = self._workspace.root / "exports" / name
        found = api.export_run(record.run, folder, format_name=format_name, force=force)
        general = found["general"]
        return replies.Export(
            folder=found["folder"],
            files=[str(Path(found["folder"]) / name) for name in found["files"]],
            manifest_path=found["manifest"],
            speedup=general["claim"]["speedup"],
            ci95=general["claim"]["ci95"],
            launch={name: general[name] for name in ("entry", "grid", "block", "shared")},
            requires=[f"{c['expr']}   {c['reason']}".strip() for c in general["requires"]],
            verified_as_written=found["recheck"] is not None,
            warnings=found["warnings"],
            next="read manifest_path for the launch, put the files into the user's code, and run the user's tests",
        )


def _next(found: RunResult | UnfinishedRun) -> str:
    run = found.run
    if found.status == "running":
        return "job_status until it is finished: a running run has no claim"
    if found.status != "finished":
        return f"resume_tuning with run={run!r}, or start_tuning again"
    if found.uncertain or not found.general or found.general.ci95[0] <= 1:
        return f"profile with run={run!r} shows what limits the kernel, for the next form; or report that no gain was found"
    return f"export_result with run={run!r}; or profile, then another form"


def _summary(found: RunResult | UnfinishedRun) -> str:
    if isinstance(found, UnfinishedRun):
        if found.status != "failed":
            return f"{found.kernel}: {found.status}, no claim yet"
        why = found.error.message if found.error is not None else "its record does not say why"
        return f"{found.kernel}: failed, so there is no claim: {why}"
    low, high = found.best.ci95
    figure = f"{found.best.speedup:.3f}x the original on {found.device} (95 % interval {low:.3f} to {high:.3f})"
    if low <= 1:
        return f"{found.kernel}: no significant gain; {figure}"
    slower = [w for w, claim in found.heldout.items() if claim.ci95[1] < 1]
    return f"{found.kernel}: {figure}, verified" + (f"; slower on held-out {', '.join(slower)}" if slower else "")


def _claim(figures: Figures) -> replies.Claim:
    return replies.Claim(**{name: getattr(figures, name) for name in replies.Claim.model_fields})


def _said(evaluation: Evaluation) -> str:
    outcome = evaluation.outcome
    if isinstance(outcome, Measured):
        return f"Measured: {searched_text(1 / outcome.score, outcome.speedup_ci95)} as searched"
    return f"{type(outcome).__name__}: {outcome.reason}"[:_LONGEST_REASON]


def _failures(known: list[Evaluation]) -> list[replies.Reason]:
    """Grouped by kind and first line: the rest differs in numbers and places."""
    failed = [e for e in known if not isinstance(e.outcome, Measured)]
    examples: dict[tuple[str, str], Evaluation] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for evaluation in failed:
        kind, reason = _said(evaluation).split(": ", 1)
        key = (kind, reason.strip().split("\n")[0])
        counts[key] += 1
        examples.setdefault(key, evaluation)
    return [
        replies.Reason(outcome=kind, reason=reason, count=count, example=dict(examples[kind, reason].configuration.pairs))
        for (kind, reason), count in counts.most_common(_MOST_REASONS)
    ]


def _removed(space: Space) -> list[replies.Removed]:
    largest = sorted((r for r in space.removed if r.count), key=lambda r: -r.count)[:_MOST_REASONS]
    return [replies.Removed(constraint=r.constraint, reason=r.reason, removes=r.count) for r in largest]


def _present(resources: Resources) -> dict[str, int]:
    return {name: value for name, value in asdict(resources).items() if isinstance(value, int)}


def _times(outcome: Measured | None) -> dict[str, float]:
    return {t.workload: round(t.median_us, 3) for t in outcome.times} if outcome is not None else {}


def _influences(importance: dict[str, Any]) -> list[replies.Influence]:
    """None where the model explains too little to say."""
    if why_unknown(importance) is not None:
        return []
    return [
        replies.Influence(
            parameter=p["name"],
            share=p["share"],
            best=p["best"]["value"],
            worst=p["worst"]["value"],
            slowdown=p["worst"]["slowdown"],
        )
        for p in importance["parameters"]
    ]


def _meant(space: Space, values: Mapping[str, Value]) -> Configuration:
    """A form's parameters are asked about in that form, also where nobody says which one it is."""
    plain = Configuration.of({**space.default, **values})
    forms = next((parameter.values for parameter in space.parameters if parameter.name == FORM), ())
    if FORM in values or plain in space:
        return plain
    points = [Configuration.of({**plain, FORM: form}) for form in forms]
    allowed = next((point for point in points if point in space), None)
    return allowed or next((point for point in points if _has_choice(space, point, values)), plain)


def _has_choice(space: Space, point: Configuration, values: Mapping[str, Value]) -> bool:
    part = space.where(FORM, point[FORM])
    return part is not None and all(len(part.occurring_values().get(name, ())) > 1 for name in values)
