"""Two ways of tuning side by side: the best so far against evaluations, and how the runs ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from warpsmith.report.style import COLOURS, STYLE, save

Floats: TypeAlias = NDArray[np.float64]

_INCHES = (8.6, 3.6)
_DASHES = ("-", (0, (5, 1.5)))


@dataclass(frozen=True, slots=True)
class Side:
    """One way: a row of `courses` for each run (its best speedup so far after each evaluation), and where they ended."""

    label: str
    courses: Floats
    finals: Floats


def draw_comparison(sides: Sequence[Side], title: str, stem: Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_INCHES, layout="constrained")
        curves, ends = figure.subplots(1, 2, width_ratios=(1.7, 1))
        _draw_curves(curves, sides)
        _draw_ends(ends, sides)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return save(figure, stem)


def _draw_curves(axes: Axes, sides: Sequence[Side]) -> None:
    for number, side in enumerate(sides):
        x = np.arange(1, side.courses.shape[1] + 1)
        low, middle, high = np.quantile(side.courses, [0.25, 0.5, 0.75], axis=0)
        axes.fill_between(x, low, high, step="post", color=COLOURS[number], alpha=0.18, linewidth=0)
        axes.step(x, middle, where="post", color=COLOURS[number], linestyle=_DASHES[number % 2], linewidth=1.6, label=side.label)
    axes.set_title("best so far, as searched (median and quartiles)")
    axes.set_xlabel("evaluations")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("speedup over the original")
    axes.set_xlim(1, max(side.courses.shape[1] for side in sides))
    axes.legend(loc="lower right", frameon=False)


def _draw_ends(axes: Axes, sides: Sequence[Side]) -> None:
    """A box and every run beside it: ten points are few enough to be seen."""
    rng = np.random.default_rng(0)
    for number, side in enumerate(sides):
        low, middle, high = np.quantile(side.finals, [0.25, 0.5, 0.75])
        axes.add_patch(
            mpl.patches.Rectangle((number - 0.22, low), 0.44, high - low, color=COLOURS[number], alpha=0.18, linewidth=0)
        )
        axes.plot([number - 0.22, number + 0.22], [middle, middle], color=COLOURS[number], linewidth=2)
        places = number + rng.uniform(-0.12, 0.12, size=len(side.finals))
        axes.plot(places, side.finals, linestyle="none", marker="o", markersize=3.5, color=COLOURS[number], alpha=0.8)
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(sides)), [side.label for side in sides])
    axes.set_xlim(-0.6, len(sides) - 0.4)
    axes.set_title("final speedup of each run, as claimed")
    axes.grid(visible=False, axis="x")
