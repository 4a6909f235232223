"""Trials of forms before they enter a template: compiled, verified on small workloads, watched for races, timed briefly.

`try_out` is one trial, for whoever wrote the form; `Trials` are those of a run, which an agent may make before it answers. A
trial costs a run part of an evaluation, and a form that was tried is not tried again: what came of it stands in the record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from warpsmith.analysis.hot_loop import hot_loops_text
from warpsmith.core.configuration import Value
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Measured, Verdict, WrongResult
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.examined import Examiner
from warpsmith.measure.paired import PairedTime, WrongLaunch, time_beside
from warpsmith.measure.policy import TRIAL
from warpsmith.measure.statistics import Ratio, weighted_ratio
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.on_form import OnForm
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.refactor.registry import load_passes
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.agent.planning import EVALUATIONS_PER_TRIAL, MOST_TRIALS, TRIED_SPEED, BudgetLeft, TrialReport
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.templates.workbench import Tried, Workbench
from warpsmith.verify.inputs import nbytes_of

_MOST_TIMED = 4  # workloads, the smallest first
_MOST_SHOWN = 24  # configurations of a form
_SHORTEST_S = 5.0  # of a run's time: with less left nobody tries anything
_HEADING = re.compile(r"trial (\d+) \((\w+)\)")


@dataclass(frozen=True, slots=True)
class FormTrial:
    """What came of it. `times` are those of the candidate with how they compare; empty where something is wrong."""

    problem: str | None
    values: str = ""
    times: Mapping[str, PairedTime] = field(default_factory=dict)
    overall: Ratio | None = None  # candidate / what it was timed beside
    resources: Resources | None = None


def try_out(bench: Workbench, proposal: Proposal, beside: Callable[[], Candidate | None], rng: np.random.Generator) -> FormTrial:
    """`beside` is what it is timed beside, on the workloads that the lab has ready."""
    tried = bench.tried(proposal)
    if isinstance(tried, str):
        return FormTrial(tried)
    incumbent = beside()
    timed = [w for w in _by_size(bench.kernel) if w.name in bench.lab.prepared][:_MOST_TIMED]
    candidate = tried.probe.build(tried.configuration, timed)
    if not isinstance(candidate, Candidate):
        return FormTrial(f"it does not compile for every workload: {candidate.reason}")
    resources = next(iter(candidate.binaries.values())).resources
    if incumbent is None:
        return FormTrial(None, tried.values, resources=resources)
    return _timed(bench.lab.bench, tried, candidate, incumbent, timed, rng)


def _timed(
    bench: Bench,
    tried: Tried,
    candidate: Candidate,
    incumbent: Candidate,
    workloads: Sequence[Workload],
    rng: np.random.Generator,
) -> FormTrial:
    times: dict[str, PairedTime] = {}
    examiner = Examiner(bench, incumbent)
    for workload in workloads:
        verdict = bench.verify(candidate, workload.name)
        if not isinstance(verdict, Verdict):
            return FormTrial(f"does not run on {workload.name}: {verdict.reason}")
        if not verdict.passed:
            return FormTrial(f"wrong result: {WrongResult(verdict).reason} ({workload.name})")
        found = time_beside(bench, workload.name, candidate, incumbent, examiner=examiner, plan=TRIAL, rng=rng)
        match found:
            case PairedTime():
                times[workload.name] = found
            case WrongLaunch(is_incumbents=False):
                return FormTrial(f"wrong in a timed launch: {WrongResult(found.verdict).reason} ({workload.name})")
            case WrongLaunch():
                continue
            case _:
                return FormTrial(f"does not run on {workload.name}: {found.reason}")
    weights = {workload.name: workload.weight for workload in workloads if workload.name in times}
    overall = weighted_ratio({name: time.ratio for name, time in times.items()}, weights) if times else None
    resources = next(iter(candidate.binaries.values())).resources
    return FormTrial(None, tried.values, times, overall, resources)


def _by_size(kernel: Kernel) -> list[Workload]:
    return sorted(kernel.tuning_workloads, key=lambda workload: nbytes_of(kernel, workload))


def trial_text(trial: FormTrial, beside: str) -> str:
    """In words, for who wrote the form; `beside` names what it was timed beside."""
    if trial.problem is not None:
        return trial.problem.strip()
    at = f" at {trial.values}" if trial.values else ""
    lines = [f"correct on the smallest workloads, no race found{at}"]
    if trial.overall is not None:
        lines.append(f"{_speed(trial.overall)} the speed of {beside} (few launches; the search measures more precisely)")
    lines += [f"  {name}: {time.candidate_us:.1f} µs, {_speed(time.ratio)}" for name, time in trial.times.items()]
    return "\n".join([*lines, *resources_lines(trial.resources)])


def resources_lines(found: Resources | None) -> list[str]:
    """What the compiler told, and what it remarked."""
    if found is None:
        return []
    known = [(f.name, getattr(found, f.name)) for f in fields(found) if f.name != "remarks"]
    told = ", ".join(f"{name} {value}" for name, value in known if value is not None)
    return [f"compiler: {told or 'no resource report'}", *(f"  {remark}" for remark in found.remarks)]


def _speed(ratio: Ratio) -> str:
    interval = f" [{1 / ratio.high:.2f}, {1 / ratio.low:.2f}]" if ratio.low > 0 and math.isfinite(ratio.high) else ""
    return f"{1 / ratio.value:.2f}x{interval}"


class Trials:
    """Of one run. Implements `planning.Tools` for the round that `standing` was told of last."""

    def __init__(self, context: RunContext, workbench: Workbench, who: str) -> None:
        self._context = context
        self._bench = workbench
        self._who = who
        self._rng = np.random.default_rng([context.order.seed, *b"trials"])
        self._tried: dict[str, TrialReport] = {}  # by fingerprint
        self._proposals: dict[int, Proposal] = {}  # by number of the trial
        self._number = 0
        for message in context.store.messages(context.run):
            if message.kind is Kind.TRIAL and (heading := _HEADING.match(message.text)) is not None:
                self._number = int(heading[1])
                self._tried[heading[2]] = TrialReport(self._number, message.text)
        self._round = 1
        self._before = self._number  # trials, when the run was last looked at
        self._forms: Mapping[int, Proposal] = {}
        self._known: Sequence[Evaluation] = ()
        self._left: BudgetLeft | None = None
        self._incumbent: Callable[[], tuple[Candidate | None, Evaluation]] | None = None

    @property
    def evaluations(self) -> int:
        """What they count against the run's budget."""
        return math.ceil(EVALUATIONS_PER_TRIAL * self._number)

    def stand(
        self,
        round_: int,
        forms: Sequence[Proposal],
        known: Sequence[Evaluation],
        left: BudgetLeft,
        incumbent: Callable[[], tuple[Candidate | None, Evaluation]],
    ) -> Trials:
        """How the run stands: what trials are compared with, and what can be looked at."""
        self._round, self._known, self._left, self._incumbent = round_, known, left, incumbent
        self._before = self._number
        self._forms = {proposal.number: proposal for proposal in forms}
        return self

    # ── tools ──

    def try_form(self, proposal: Proposal) -> TrialReport:
        key = fingerprint((proposal.source, proposal.grid, proposal.block, proposal.shared, proposal.tunables, proposal.rules))[
            :8
        ]
        if (known := self._tried.get(key)) is not None:
            self._proposals[known.number] = proposal
            return known
        if (refusal := self._refusal()) is not None:
            return TrialReport(0, refusal)
        assert self._incumbent is not None, "nobody tries anything before the run stands somewhere"
        candidate, best = self._incumbent()
        trial = try_out(self._bench, proposal, lambda: candidate, self._rng)
        self._number += 1
        text = f"trial {self._number} ({key}): {trial_text(trial, self._named(best))}"
        if trial.overall is not None and best.score:
            text += f"\n{1 / (trial.overall.value * best.score):.2f}x {TRIED_SPEED}"
        report = TrialReport(self._number, text)
        self._tried[key], self._proposals[self._number] = report, proposal
        self._context.note(Message(Role.TEMPLATER, Kind.TRIAL, text, self._round, self._who))
        return report

    def hot_loop(self, form: int, loop: int = 1) -> str:
        proposal = self._proposal(form)
        if isinstance(proposal, str):
            return proposal
        shown = self._bench.instructions(proposal)
        if isinstance(shown, str):
            return f"form {form}: {shown}"
        told = hot_loops_text(shown, loop) or "the machine code has no loops"
        return f"form {form} at its defaults, {len(shown)} instructions in all; the hottest loops by static estimate:\n{told}"

    def look_at(self, form: int) -> str:
        proposal = self._proposal(form)
        if isinstance(proposal, str):
            return proposal
        lines = [] if proposal is None else [f"{proposal.hypothesis}\n```\n{proposal.source.rstrip()}\n```", _launch(proposal)]
        rows = [e for e in self._known if int(dict(e.configuration.pairs).get(FORM, 0)) == form]
        shown = sorted(rows, key=lambda e: e.score or math.inf)[:_MOST_SHOWN]
        lines += [f"{len(rows)} configurations of it were evaluated, the best first:" if rows else "No evaluation of it yet."]
        names = {ours: theirs for theirs, ours in proposal.names} if proposal is not None else {}
        plain = dict(self._known[0].configuration.pairs) if self._known else {}  # the original's
        return "\n".join([*lines, *(_row(evaluation, plain, names) for evaluation in shown)])

    def ask_pass(self, name: str, form: int) -> str:
        known = {transform.name: transform for transform in load_passes()}
        if name not in known:
            return f"there is no pass {name!r}; passes are {', '.join(known)}"
        proposal = self._proposal(form)
        if isinstance(proposal, str):
            return proposal
        limits = self._bench.lab.info.limits
        draft = Draft.of(self._bench.kernel, limits) if proposal is None else self._bench.draft_with(proposal)
        if proposal is not None and len(draft.branches) < 2:
            return f"form {form} does not enter a template: {draft.applications[-1].reason}"
        asked = known[name] if proposal is None else OnForm(known[name], proposal.number)
        done = apply_pass(draft, asked).applications[-1]
        if done.reason is not None:
            return f"{name} does nothing to form {form}: {done.reason}" + (f" (line {done.line})" if done.line else "")
        notes = "".join(f"\n- {note}" for note in done.notes)
        return f"{name} applies to form {form}, with parameters {', '.join(done.parameters)}{notes}"

    # ── ──

    def _refusal(self) -> str | None:
        left = self._left
        if self._number >= MOST_TRIALS:
            return f"not tried: {MOST_TRIALS} trials is the maximum per run"
        since = EVALUATIONS_PER_TRIAL * (self._number - self._before)
        if left is not None and left.evaluations is not None and left.evaluations - since < 1:
            return "not tried: no evaluations are left for a trial"
        if left is not None and left.seconds is not None and left.seconds < _SHORTEST_S:
            return f"not tried: {left.seconds:.0f} s of the run are left"
        return None

    def _proposal(self, form: int) -> Proposal | str | None:
        """None is the original."""
        found = self._proposals.get(-form) if form < 0 else self._forms.get(form)
        if found is None and form != 0:
            forms, trials = ", ".join(map(str, self._forms)) or "none", ", ".join(f"-{n}" for n in self._proposals) or "none"
            return f"there is no form {form}; forms: {forms}; trials: {trials}"
        return found

    @staticmethod
    def _named(best: Evaluation) -> str:
        number = dict(best.configuration.pairs).get(FORM, 0)
        return "the original" if best.score == 1.0 else f"the best so far (form {number})"


def _launch(proposal: Proposal) -> str:
    grid, block = ", ".join(proposal.grid), ", ".join(proposal.block)
    values = "; ".join(f"{t.name} in {list(t.values)}, default {t.default}" for t in proposal.tunables)
    return f"grid ({grid}), block ({block}), shared {proposal.shared}" + (f"; {values}" if values else "")


def _row(evaluation: Evaluation, plain: Mapping[str, Value], names: Mapping[str, str]) -> str:
    """What differs from the original, under the names that the form's author gave."""
    outcome = evaluation.outcome
    pairs = [(name, value) for name, value in evaluation.configuration.pairs if name != FORM]
    values = " ".join(f"{names.get(name, name)}={v}" for name, v in pairs if v != plain.get(name) or name in names) or "defaults"
    if not isinstance(outcome, Measured):
        return f"- {values}: {type(outcome).__name__}: {' '.join(outcome.reason.split())[:200]}"
    times = ", ".join(f"{t.workload} {t.median_us:.1f} µs" for t in outcome.times)
    return f"- {values}: {1 / outcome.score:.2f}x ({times})"
