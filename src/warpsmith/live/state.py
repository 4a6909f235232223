"""The state of the live page, updated by the run's events. Memory grows only with the plotted points."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.core.plain_text import on_one_line
from warpsmith.record.run import NO_AGENT
from warpsmith.record.transcript import Kind
from warpsmith.report.wording import OUTCOME_WORDS, configuration_text, failure_text, price_text, searched_text, time_text
from warpsmith.tuning.events import (
    AdversariesChosen,
    AgentGaveUp,
    BaselineMeasured,
    BatchAdvanced,
    EvaluationAdvanced,
    EvaluationFinished,
    EvaluationQueued,
    Event,
    MessageNoted,
    PassesPostponed,
    PreparationStarted,
    RoundFinished,
    RoundPlanned,
    RoundStarted,
    RunFinished,
    RunStarted,
    SourceLearned,
    StageAdvanced,
    StageStarted,
    Step,
    TemplateCertified,
    Warned,
)

_LATEST = 12  # evaluations in the table
_NOTES = 60  # lines of what was said
_LONGEST = 400  # characters of one of them
_SPOKEN = {Kind.FAULT, Kind.PROBLEM, Kind.REPLY, Kind.DECISION}

Point = tuple[int, str, float | None]
"""An evaluation's number, its outcome in words, and its speedup over the original as searched."""


@dataclass(slots=True)
class _Run:
    """The run that is under way."""

    name: str = ""
    kernel: str = ""
    about: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.time)
    limit: int | None = None  # evaluations
    limit_s: float | None = None
    evaluated: int = 0
    left_s: float | None = None
    best: dict[str, str] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    latest: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_LATEST))
    points: list[Point] = field(default_factory=list)
    working: dict[str, dict[str, Any]] = field(default_factory=dict)  # by where
    queued: dict[Configuration, str] = field(default_factory=dict)
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)
    cost: dict[str, Any] | None = None
    stage: dict[str, Any] = field(default_factory=dict)


class LiveState:
    """A subscriber. Events may come from any thread, and any thread may wait for what they change."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._epoch = 0  # of the points: each visit of a run begins anew
        self._run = _Run()
        self._notes: deque[dict[str, str]] = deque(maxlen=_NOTES)
        self._kernels: dict[str, dict[str, Any]] = {}
        self._batch = ""
        self._ended: str | None = None
        self._enter("start")

    def __call__(self, event: Event) -> None:
        with self._changed:
            self._heed(event)
            self._version += 1
            self._changed.notify_all()

    def end(self, words: str) -> None:
        """Nothing more happens: `report` where there is one to be shown, else why not."""
        with self._changed:
            self._ended = on_one_line(words)
            self._version += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> int:
        """The version that is current; returns as soon as it is another than the one `seen`, or at the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen, timeout_s)
            return self._version

    def snapshot(self, cursor: str = "") -> tuple[str, Mapping[str, Any]]:
        """What there is to show, with the points that whoever has this cursor lacks; and the cursor for the next time."""
        with self._changed:
            run = self._run
            epoch, _, known = cursor.partition(".")
            since = int(known) if epoch == str(self._epoch) and known.isdecimal() else 0
            state = {
                "run": run.name,
                "kernel": run.kernel,
                "about": dict(run.about),
                "seconds": time.time() - run.began,
                "limit": run.limit,
                "limit_s": run.limit_s,
                "left_s": run.left_s,
                "evaluated": run.evaluated,
                "best": run.best,
                "counts": {OUTCOME_WORDS[kind]: count for kind, count in run.counts.items()},
                "latest": list(run.latest),
                "working": list(run.working.values()),
                "queued": list(run.queued.values()),
                "rounds": list(run.rounds.values()),
                "cost": run.cost,
                "stage": dict(run.stage),
                "now": time.time(),
                "notes": list(self._notes),
                "batch": self._batch,
                "kernels": list(self._kernels.values()),
                "ended": self._ended,
                "epoch": self._epoch,
                "since": min(since, len(run.points)),
                "points": run.points[since:],
            }
            return f"{self._epoch}.{len(run.points)}", state

    # ── what each event changes ──

    def _heed(self, event: Event) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each event
        run = self._run
        match event:
            case PreparationStarted(what=what):
                self._enter("preparing", what)
            case RunStarted():
                self._begin(event)
            case BatchAdvanced():
                self._visit(event)
            case BaselineMeasured(outcome=outcome):
                times = ", ".join(f"{t.workload} {time_text(t.median_us)}" for t in outcome.times)
                run.about["Original"] = f"{times} (on the searching cores)"
            case RoundPlanned(number=number, plan=plan):
                entry = self._round(number)
                entry["reason"] = on_one_line(plan.reason)
                entry["findings"] = [on_one_line(f"{finding.concern}: {finding.text}") for finding in plan.findings]
                self._enter("template", f"of round {number}")
            case RoundStarted():
                self._start_round(event)
            case RoundFinished(number=number, evaluations=evaluations, speedup=speedup, ci95=ci95):
                self._round(number).update(evaluations=evaluations, best=searched_text(speedup, ci95))
                run.working.clear()
                run.queued.clear()
                self._enter("analysis", f"of round {number}")
            case EvaluationQueued(configuration=configuration):
                run.queued[configuration] = on_one_line(configuration_text(configuration))
            case EvaluationAdvanced():
                self._advance(event)
            case EvaluationFinished():
                self._evaluated(event)
            case StageStarted(name=name, steps=steps):
                self._enter(name, of=steps)
            case StageAdvanced(step=step, detail=detail):
                run.stage.update(step=step, detail=on_one_line(detail))
            case MessageNoted():
                self._noted(event)
            case RunFinished(result=result):
                self._enter("done")
                of_batch = self._kernels.get(run.kernel)
                if of_batch is not None and result.general is not None:
                    of_batch["result"] = searched_text(result.general.speedup, result.general.ci95)
            case Warned(message=message):
                self._say("warning", message)
            case AgentGaveUp(reason=reason):
                self._say("agent", f"{reason}: the run continues without it")
            case TemplateCertified(detail=detail):
                self._say("identity", detail)
            case SourceLearned(source=source):
                self._say("warm", f"{source.evaluations} evaluations of {source.kernel} on {source.device}, from {source.name}")
            case PassesPostponed(names=names):
                self._say("template", f"postponed to a later round for lack of time: {', '.join(names)}")
            case AdversariesChosen(kept=kept):
                self._say("tester", f"also verified on {', '.join(w.name for w in kept) or 'nothing'}")

    def _enter(self, name: str, detail: str = "", of: int | None = None) -> None:
        self._run.stage = {"name": name, "detail": on_one_line(detail), "step": 0, "of": of, "since": time.time()}

    def _say(self, who: str, text: str) -> None:
        said = on_one_line(text)
        self._notes.append({"who": who, "text": said[:_LONGEST] + (" …" if len(said) > _LONGEST else "")})

    def _begin(self, event: RunStarted) -> None:
        info, budget = event.device, event.budget
        who = "the kernel's own template" if event.agent == NO_AGENT else f"from the original, agent {event.agent}"
        limits = [f"{budget.evaluations} evaluations"] if budget.evaluations is not None else []
        limits += [f"{budget.seconds:g} s"] if budget.seconds is not None else []
        about = {
            "Run": event.run,
            "Device": f"{', '.join((info.name, *event.more_devices))}: {info.description}",
            "Search": f"{who}; strategy {event.strategy}",
            "Budget": " or ".join(limits) or "all of the space",
        }
        stage = self._run.stage
        self._run = _Run(event.run, on_one_line(event.kernel), {name: on_one_line(text) for name, text in about.items()})
        self._run.limit, self._run.limit_s, self._run.stage = budget.evaluations, budget.seconds, stage
        self._epoch += 1

    def _visit(self, event: BatchAdvanced) -> None:
        self._batch = f"stage {event.stage} of {event.stages}, kernel {event.number} of {event.of}: {on_one_line(event.reason)}"
        for entry in self._kernels.values():
            entry["now"] = False
        name = on_one_line(event.kernel)
        entry = self._kernels.setdefault(name, {"kernel": name, "best": "-", "result": "-"})
        entry.update(now=True, stage=event.stage)

    def _round(self, number: int) -> dict[str, Any]:
        return self._run.rounds.setdefault(number, {"round": number, "reason": "", "findings": [], "best": "", "evaluations": 0})

    def _start_round(self, event: RoundStarted) -> None:
        space = f"{event.configurations:,} feasible of {event.cartesian_size:,} configurations of"
        self._round(event.number)["space"] = on_one_line(f"{space} {', '.join(event.parameters) or 'no parameters'}")
        self._run.queued.clear()
        self._enter("search", f"round {event.number}", event.evaluations)

    def _advance(self, event: EvaluationAdvanced) -> None:
        words = on_one_line(configuration_text(event.configuration))
        step = "waiting for its compiler" if event.step is Step.COMPILING else event.step.value
        self._run.queued.pop(event.configuration, None)
        self._run.working[event.where] = {"where": event.where, "step": step, "configuration": words, "since": time.time()}

    def _evaluated(self, event: EvaluationFinished) -> None:
        run, evaluation = self._run, event.evaluation
        run.evaluated += 1
        run.left_s = event.seconds_left
        run.counts[type(evaluation.outcome).__name__] += 1
        words, speedup = _told(evaluation)
        run.points.append((run.evaluated, words, speedup))
        configuration = on_one_line(configuration_text(evaluation.configuration))
        run.queued.pop(evaluation.configuration, None)
        for where in [where for where, entry in run.working.items() if entry["configuration"] == configuration]:
            del run.working[where]
        reason = on_one_line(failure_text(evaluation.outcome))[:_LONGEST]
        outcome = evaluation.outcome
        figure = searched_text(1 / outcome.score, outcome.speedup_ci95) if isinstance(outcome, Measured) else reason
        run.latest.appendleft({"number": run.evaluated, "outcome": words, "figure": figure, "configuration": configuration})
        best = event.best.outcome if event.best is not None else None
        if event.best is not None and isinstance(best, Measured):
            shown = on_one_line(configuration_text(event.best.configuration))
            low, high = best.speedup_ci95 or (0.0, 0.0)
            interval = f"{low:.2f} - {high:.2f}" if low < high else ""
            run.best = {"speedup": f"{1 / best.score:.2f}x", "interval": interval, "configuration": shown}
            if (entry := self._kernels.get(run.kernel)) is not None:
                entry["best"] = searched_text(1 / best.score, best.speedup_ci95)
        run.stage["step"] = event.number

    def _noted(self, event: MessageNoted) -> None:
        price = price_text(event.usd, unpriced=event.unpriced)
        self._run.cost = {"tokens": event.tokens, "price": price}
        message = event.message
        # What the run decides by itself has events of its own.
        if message.kind in _SPOKEN and not (message.kind is Kind.DECISION and message.model is None):
            self._say(f"{message.role}, {message.kind}", message.text)


def _told(evaluation: Evaluation) -> tuple[str, float | None]:
    speedup = None if evaluation.score is None else round(1 / evaluation.score, 4)
    return OUTCOME_WORDS[type(evaluation.outcome).__name__], speedup
