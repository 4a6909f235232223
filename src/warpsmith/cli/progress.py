"""Live progress on stderr: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import contextlib
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID

from warpsmith.cli.preparation import Preparation
from warpsmith.cli.terminal import BAR_WIDTH, terminal, words
from warpsmith.core.outcome import Measured
from warpsmith.core.plain_text import printable
from warpsmith.record.run import NO_AGENT
from warpsmith.record.transcript import Kind
from warpsmith.report.wording import price_text, searched_text
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.events import (
    AdversariesChosen,
    AgentGaveUp,
    BaselineMeasured,
    BatchAdvanced,
    Emit,
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
    TemplateCertified,
    Warned,
)

_LINES_EVERY = 10  # evaluations, where there is no terminal to draw on

_INDENT = " " * 10  # where the text stands after its label


@contextlib.contextmanager
def progress() -> Iterator[Emit]:
    console = terminal(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        words("{task.description}"),
        BarColumn(bar_width=BAR_WIDTH),
        MofNCompleteColumn(),
        words("{task.fields[detail]}"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    with bar:
        yield _Reporter(console, bar)


class _Reporter:
    def __init__(self, console: Console, bar: Progress) -> None:
        self._console = console
        self._bar = bar
        self._task: TaskID | None = None
        self._total: int | None = None
        self._seconds: float | None = None  # where time is all that limits the search
        self._space = ""
        self._preparation = Preparation()
        self._counts: Counter[str] = Counter()
        self._begin("start", None)  # workers, inputs: seconds in which nothing else would move

    def __call__(self, event: Event) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each event
        match event:
            case PreparationStarted(what=what):
                self._preparation.begin(what)
                self._update(0, what)
            case RunStarted():
                self._started(event)
            case SourceLearned(source=source):
                kept = f"{source.evaluations} of {source.found:,}" if source.found > source.evaluations else str(source.found)
                self._say(f"warm      {kept} evaluations of {source.kernel} on {source.device}, from {source.name}")
            case Warned(message=message):
                self._say(f"warning   {message}")
            case TemplateCertified(detail=detail):
                self._say(f"identity  {detail}")
            case BaselineMeasured(outcome=outcome):
                times = ", ".join(f"{t.workload} {t.median_us / 1e3:.2f} ms" for t in outcome.times)
                self._say(f"baseline  {times}  (on the searching cores)")
                self._begin("analysis", None)
            case RoundPlanned(number=number, plan=plan):
                self._preparation.next("template")
                for finding in plan.findings:
                    self._say(f"finding   {finding.concern}: {finding.text}")
                self._say(f"plan      round {number}: {plan.reason}")
                self._begin("template", None)
            case AdversariesChosen(kept=kept, dropped=dropped):
                self._say(f"tester    also verified on {_listed(kept) or 'nothing'}; left out {len(dropped)}")
            case MessageNoted():
                self._noted(event)
            case AgentGaveUp(reason=reason):
                self._say(f"agent     {reason}: the run continues without it")
            case PassesPostponed(names=names):
                self._say(f"template  postponed to a later round for lack of time: {', '.join(names)}")
            case RoundStarted():
                self._round_started(event)
            case RoundFinished(number=number, evaluations=evaluations, speedup=speedup, ci95=ci95):
                self._search_ended()
                best = f"best so far {searched_text(speedup, ci95)}; the finalists are measured again"
                self._say(f"round {number}   {evaluations} evaluations; {best}")
                self._begin("analysis", None)
            case EvaluationQueued() | EvaluationAdvanced():  # too quick for one line: `--live` shows them
                pass
            case EvaluationFinished():
                self._evaluated(event)
            case StageStarted(name=name, steps=steps):
                self._begin(name, steps)
                if not self._console.is_terminal:
                    self._say(f"{name:<9} {steps} {'step' if steps == 1 else 'steps'}")
            case StageAdvanced(step=step, detail=detail):
                self._update(step, detail)
            case BatchAdvanced(kernel=kernel, number=number, of=of, stage=stage, stages=stages, reason=reason):
                self._say(f"batch     stage {stage} of {stages}, kernel {number} of {of}: {kernel} ({reason})")
                self._begin("start", None)
            case RunFinished():
                self._end()
            case _ as never:
                assert_never(never)

    def _say(self, text: str) -> None:
        text = printable(text, also="\n")  # compilers and models are quoted, and a terminal would obey them
        if self._console.is_terminal:  # elsewhere a line stays one line, for those who search it
            text = textwrap.fill(text, self._console.width, subsequent_indent=_INDENT, break_on_hyphens=False)
        self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _started(self, event: RunStarted) -> None:
        info = event.device
        self._say(f"run       {event.run}")
        self._say(f"device    {info.name}: {info.description}, {info.limits.compute_units} compute units")
        if event.more_devices:
            self._say(f"beside    {', '.join(event.more_devices)}: identical devices that share the search")
        self._seconds = event.budget.seconds if event.budget.evaluations is None else None
        limits = [f"{event.budget.evaluations} evaluations"] if event.budget.evaluations is not None else []
        limits += [f"{event.budget.seconds:g} s"] if event.budget.seconds is not None else []
        who = "the kernel's own template" if event.agent == NO_AGENT else f"from the original, agent {event.agent}"
        self._say(f"search    {who}; strategy {event.strategy}, at most {' or '.join(limits) or 'all of the space'}")
        if event.resumed_evaluations:
            self._say(f"resumed   {event.resumed_evaluations} evaluations from the record")
        self._begin("baseline", None)

    def _noted(self, event: MessageNoted) -> None:
        message = event.message
        if message.kind in {Kind.FAULT, Kind.PROBLEM}:
            self._say(f"{message.role:<9} {message.kind}: {message.text.strip().partition(chr(10))[0]}")
        elif message.kind is Kind.DECISION and message.model is not None:  # what the run decides has its own events
            self._say(f"{message.role:<9} {message.text.strip().partition(chr(10))[0]}")
        elif message.kind is Kind.REPLY:
            price = price_text(event.usd, unpriced=event.unpriced)
            self._say(f"{message.role:<9} answered in {message.seconds:.1f} s; so far {event.tokens:,} tokens, {price}")

    def _round_started(self, event: RoundStarted) -> None:
        if said := self._preparation.end():
            self._say(f"prepared  {said}")
        self._total = event.evaluations if event.evaluations is not None else event.configurations
        if self._seconds is not None:
            self._total = round(self._seconds)
        space = (
            f"space     {event.configurations:,} feasible of {event.cartesian_size:,} configurations of"
            f" {', '.join(event.parameters) or 'no parameters'}"
        )
        if space != self._space:  # what is left of a budget is spent on the last one again
            self._say(space)
        self._space = space
        self._begin("search", self._total)

    def _evaluated(self, event: EvaluationFinished) -> None:
        kind = type(event.evaluation.outcome).__name__
        self._counts[kind] += 1
        best = event.best.outcome if event.best is not None else None
        parts = [
            f"best {searched_text(1 / best.score, best.speedup_ci95)}"
            if isinstance(best, Measured)
            else "no valid configuration yet"
        ]
        parts += [f"{n} {name}" for name, n in self._counts.items() if name != "Measured"]
        if event.seconds_left is not None:
            parts.append(f"{event.seconds_left:.0f} s left")
        if self._seconds is not None and event.seconds_left is not None:
            self._update(round(self._seconds - event.seconds_left), " · ".join(["s", f"{event.number} evaluations", *parts]))
            number = f"{event.number}"
        else:
            self._update(event.number, " · ".join(parts))
            number = f"{event.number}/{self._total}"
        if not self._console.is_terminal and event.number % _LINES_EVERY == 0:
            self._say(f"search    {number}  {' · '.join(parts)}")

    def _search_ended(self) -> None:
        if self._counts:
            counts = ", ".join(f"{n} {kind}" for kind, n in self._counts.items())
            self._say(f"search    {counts}")
            self._counts.clear()

    def _begin(self, name: str, total: int | None) -> None:
        self._end()
        self._task = self._bar.add_task(f"{name:<9}", total=total, detail="")

    def _update(self, completed: int, detail: str) -> None:
        if self._task is not None:
            self._bar.update(self._task, completed=completed, detail=detail)

    def _end(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None


def _listed(workloads: Sequence[Workload]) -> str:
    """`odd-8 (tokens=296, d=312), large-values (tokens=7, d=1000, inputs x100)`"""
    found = []
    for workload in workloads:
        sizes = [f"{name}={size}" for name, size in workload.sizes.items()]
        scaled = [f"inputs x{workload.scale:g}"] if workload.scale != 1.0 else []
        found.append(f"{workload.name} ({', '.join([*sizes, *scaled])})")
    return ", ".join(found)
