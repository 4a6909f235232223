"""Best-so-far curves: small multiples with one legend, written as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from warpsmith.report.style import COLOURS, STYLE, save

Floats: TypeAlias = NDArray[np.float64]

_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
_PANEL_INCHES = (3.5, 2.5)
_ALONE_INCHES = (6.0, 3.5)
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A curve that holds each value until the next; the band is missing where there was only one trial."""

    label: str
    x: Floats
    y: Floats
    band: tuple[Floats, Floats] | None


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    x_label: str
    lines: tuple[Line, ...]


def draw_curves(panels: Sequence[Panel], title: str, y_label: str, stem: Path) -> tuple[Path, Path]:
    """Draw the panels and write `stem`.svg and `stem`.png. All panels share the labels, and with them colours and the legend."""
    with mpl.rc_context(STYLE):
        columns = min(_COLUMNS, len(panels))
        rows = math.ceil(len(panels) / columns)
        across, down = _PANEL_INCHES if len(panels) > 1 else _ALONE_INCHES
        labels = [line.label for line in panels[0].lines]
        beside = _labels_beside(labels, across * columns)
        size = (across * columns + 0.4, down * rows + 0.4 + 0.2 * math.ceil(len(labels) / beside))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel(y_label)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=beside, frameon=False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return save(figure, stem)


def _draw(axes: Axes, panel: Panel) -> None:
    shade = min(0.15, 0.4 / max(len(panel.lines), 1))  # many bands lie on top of each other
    for number, line in enumerate(panel.lines):
        colour, dash = COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]
        if line.band is not None:
            axes.fill_between(line.x, *line.band, step="post", color=colour, alpha=shade, linewidth=0)
        axes.step(line.x, line.y, where="post", color=colour, linestyle=dash, linewidth=1.5, label=line.label)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_xlim(0, max((float(line.x[-1]) for line in panel.lines), default=1.0))
    axes.set_ylim(_bottom(panel), 1.005)


def _labels_beside(labels: Sequence[str], inches: float) -> int:
    """How many fit in a row of the legend: a letter takes about 0.08 inch, the sample of the line and its margins 0.7."""
    widest = 0.08 * max(map(len, labels), default=1) + 0.7
    return max(1, min(len(labels), int(inches / widest)))


def _bottom(panel: Panel) -> float:
    """Leave out the first steep tenth of the curves, where nobody would stop: the differences that matter lie above it."""
    lows = [float(line.y[len(line.y) // 10 :].min()) for line in panel.lines if len(line.y)]
    return max(0.0, math.floor(min(lows, default=0.0) * 20) / 20)
