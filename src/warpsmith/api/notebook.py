"""Progress in notebooks: one line in the cell, updated during a run."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from warpsmith.core.outcome import Measured, Outcome
from warpsmith.report.html.markup import element, joined
from warpsmith.report.wording import searched_text
from warpsmith.tuning.events import (
    BaselineMeasured,
    Emit,
    EvaluationFinished,
    Event,
    RoundPlanned,
    RunFinished,
    RunStarted,
    StageAdvanced,
    StageStarted,
    Warned,
    ignore,
)


def notebook_progress() -> Emit:
    """What shows events in the notebook that this runs in; elsewhere nothing does."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return _Cell() if getattr(shell, "kernel", None) is not None else ignore


def _best(outcome: Outcome | None) -> str:
    if not isinstance(outcome, Measured):
        return "no valid configuration yet"
    return f"best so far {searched_text(1 / outcome.score, outcome.speedup_ci95)}"


class _Cell:
    def __init__(self) -> None:
        shown: Any = import_module("IPython.display")  # there, as was found out
        self._html = shown.HTML
        self._shown = shown.display(shown.HTML("starting"), display_id=True)
        self._of: int | None = None
        self._warnings: list[str] = []

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted(run=run, budget=budget):
                self._of = budget.evaluations
                self._show(f"{run}: measuring the original")
            case BaselineMeasured():
                self._show("original measured")
            case RoundPlanned(number=number, plan=plan):
                self._show(f"round {number}: {plan.reason}")
            case EvaluationFinished(number=number, best=best):
                self._show(_best(best.outcome if best is not None else None), number)
            case StageStarted(name=name):
                self._show(name)
            case StageAdvanced(detail=detail):
                self._show(detail)
            case Warned(message=message):
                self._warnings.append(message)
            case RunFinished():
                self._show("done")
            case _:
                pass

    def _show(self, words: str, number: int | None = None) -> None:
        parts = [element("progress", value=number, max=self._of)] if number is not None and self._of is not None else []
        parts += [element("span", f" {number}/{self._of} · " if parts else ""), element("span", words)]
        parts += [element("div", f"warning: {text}") for text in self._warnings]
        self._shown.update(self._html(joined(parts)))
