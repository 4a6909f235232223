"""Plots of a search: the best so far against evaluations and time, and the outcome of every evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from warpsmith.core.outcome import OUTCOME_KINDS, Evaluation
from warpsmith.report.ratios import ratio_axis
from warpsmith.report.style import COLOURS
from warpsmith.report.wording import OUTCOME_WORDS, configuration_text, speedup_text

_INCHES = (4.9, 2.9)
_WIDE_INCHES = (7.4, 3.3)
# By outcome: so different in shape that colours need not tell them apart.
_MARKS = {"Measured": "o", "Infeasible": "_", "CompileFailed": "x", "LaunchFailed": "^", "WrongResult": "D", "Crashed": "s"}
_CLEARANCE = 1.9  # of the row of failures from the slowest time
_INKS = {kind: COLOURS[(0, 6, 1, 3, 4, 2, 5)[place]] for place, kind in enumerate(OUTCOME_KINDS)}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure, and what its markers say when the pointer rests on them, by the gid of the artist."""

    figure: Figure
    tips: dict[str, list[str]]


def best_so_far(evaluations: Sequence[Evaluation]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The best speedup after each evaluation, as searched; NaN before the first that was measured."""
    scores = [np.nan if e.score is None else e.score for e in evaluations]
    return 1 / np.fmin.accumulate(np.array(scores, dtype=np.float64)) if scores else np.empty(0)


def draw_best(evaluations: Sequence[Evaluation], *, against_time: bool) -> Figure:
    """Against the number of evaluations, or against the seconds that went into them."""
    best = best_so_far(evaluations)
    seconds = np.cumsum([e.seconds for e in evaluations])
    x = seconds if against_time else np.arange(1, len(best) + 1)
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    axes.step(x, best, where="post", color=COLOURS[0], linewidth=1.8)
    axes.plot(x[-1:], best[-1:], "o", color=COLOURS[0], markersize=5)
    axes.axhline(1, color="#888888", linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_xlabel("seconds spent on evaluations" if against_time else "evaluations")
    axes.set_ylabel("best speedup so far")
    axes.set_xlim(0, float(x[-1]) * 1.03 or 1.0)
    if not against_time:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    top = float(np.nanmax(best)) if np.isfinite(best).any() else 1.0
    axes.set_ylim(min(0.95, float(np.nanmin(best)) * 0.95) if np.isfinite(best).any() else 0.0, max(top * 1.06, 1.1))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    return figure


def draw_courses(courses: Mapping[str, Sequence[Evaluation]]) -> Figure:
    """The best so far of several runs, by name, against the number of evaluations."""
    figure = Figure(figsize=_WIDE_INCHES, layout="constrained")
    axes = figure.subplots()
    found = {name: best_so_far(evaluations) for name, evaluations in courses.items()}
    for number, (name, best) in enumerate(found.items()):
        style = ("-", (0, (5, 1.5)))[number % 2]
        x = np.arange(1, len(best) + 1)
        axes.step(x, best, where="post", color=COLOURS[number], linewidth=1.8, linestyle=style, label=name)
    axes.axhline(1, color="#888888", linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best speedup so far")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    every = np.concatenate([best[np.isfinite(best)] for best in found.values()])
    ratio_axis(axes, "y", min(0.95, float(every.min()) / 1.1), max(1.1, float(every.max()) * 1.1), "x")
    axes.legend(loc="lower right", frameon=False)
    return figure


def draw_evaluations(evaluations: Sequence[Evaluation]) -> Drawn:
    """Each one's time relative to the original's by its number; those without a time stand in a row of their own above."""
    figure = Figure(figsize=_WIDE_INCHES, layout="constrained")
    axes = figure.subplots()
    scores = [e.score for e in evaluations if e.score is not None]
    slowest = max([*scores, 1.0])
    above = slowest * _CLEARANCE
    tips: dict[str, list[str]] = {}
    for kind in OUTCOME_KINDS:
        chosen = [(n, e) for n, e in enumerate(evaluations, start=1) if type(e.outcome).__name__ == kind]
        if not chosen:
            continue
        heights = [above if e.score is None else e.score for _, e in chosen]
        (markers,) = axes.plot(
            [n for n, _ in chosen],
            heights,
            linestyle="none",
            marker=_MARKS.get(kind, "v"),
            markersize=4.5,
            color=_INKS[kind],
            alpha=0.75,
            label=f"{OUTCOME_WORDS[kind]} ({len(chosen)})",
        )
        markers.set_gid(f"points-{kind}")
        tips[f"points-{kind}"] = [_tip(n, e) for n, e in chosen]
    if len(scores) < len(evaluations):
        axes.axhline(slowest * _CLEARANCE**0.5, color="#E4E4E4", linewidth=0.8)
    axes.axhline(1, color="#888888", linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_xlabel("evaluation")
    axes.set_xlim(0, len(evaluations) + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    highest = above if len(scores) < len(evaluations) else slowest
    ratio_axis(axes, "y", min([*scores, 1.0]) / 1.25, highest * 1.25)
    axes.set_ylabel("time / original's time")
    figure.legend(loc="outside lower left", ncols=4, frameon=False)
    return Drawn(figure, tips)


def _tip(number: int, evaluation: Evaluation) -> str:
    kind = type(evaluation.outcome).__name__
    figure = "" if evaluation.score is None else f" {speedup_text(1 / evaluation.score)}"
    return f"#{number} {OUTCOME_WORDS[kind]}{figure}: {configuration_text(evaluation.configuration)}"
