"""Plots of parameter importance: a bar per parameter, a triangular matrix of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from warpsmith.report.style import COLOURS, STYLE, save
from warpsmith.search.importance import Importance, ParameterEffect

_SHOWN = 12  # parameters beyond the strongest dozen would only make the others unreadable
_ROW_INCHES = 0.34
_BARS_INCHES = 4.6
_PALE = 0.06  # of the colour, where a pair has no share; on a dark page, too, the ground shines through
_DARK = 0.65  # of the scale: beyond it, text is white


def draw_importance(importance: Importance, title: str, stem: Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png; parameters in both halves are in the order of their shares."""
    shown = importance.parameters[:_SHOWN]
    pairs = len(shown) > 1
    side = max(_ROW_INCHES * len(shown), 1.2)
    triangle = side + 2.2 if pairs else 0.0
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(_BARS_INCHES + triangle, side + 2.0), layout="constrained")
        if pairs:
            bars, squares = figure.subplots(1, 2, width_ratios=(_BARS_INCHES, triangle))
            _draw_pairs(squares, importance, [effect.name for effect in shown])
        else:
            bars = figure.subplots()
        _draw_bars(bars, shown)
        figure.suptitle(f"{title}\n{basis(importance)}", x=0.01, ha="left", fontsize=10)
        return save(figure, stem)


def draw_shares(importance: Importance) -> Figure:
    """The bars alone. Call it within `rc_context(STYLE)`, as the next."""
    shown = importance.parameters[:_SHOWN]
    figure = Figure(figsize=(_BARS_INCHES, max(_ROW_INCHES * len(shown), 0.6) + 0.8), layout="constrained")
    axes = figure.subplots()
    _draw_bars(axes, shown)
    axes.grid(visible=False)
    return figure


def draw_interactions(importance: Importance) -> Figure:
    """The triangle of pairs alone, for two parameters or more."""
    shown = importance.parameters[:_SHOWN]
    side = max(_ROW_INCHES * len(shown), 1.2)
    figure = Figure(figsize=(side + 1.6, side + 1.3), layout="constrained")
    axes = figure.subplots()
    _draw_pairs(axes, importance, [effect.name for effect in shown])
    axes.grid(visible=False)
    return figure


def basis(importance: Importance) -> str:
    r2 = f"R² {importance.r2:.2f} (leave-one-out)"
    return f"estimated by a model of {importance.measured} measured configurations, {r2}"


def _draw_bars(axes: Axes, shown: Sequence[ParameterEffect]) -> None:
    places = range(len(shown))
    shares = [100 * effect.share for effect in shown]
    axes.barh(list(places), shares, height=0.62, color=COLOURS[0])
    for place, effect, share in zip(places, shown, shares, strict=True):
        words = f"{share:.0f} %"
        if effect.share >= 0.005:  # below, which value is best is chance
            words += f" · best {effect.best.value}, worst {effect.worst.value} ({effect.worst.slowdown:.2f}x)"
        axes.text(share + 1, place, words, va="center", fontsize=8, color="#444444")
    axes.set_yticks(places, [effect.name for effect in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 100 if max(shares, default=0) < 45 else max(shares) * 2.1)
    axes.set_xticks([tick for tick in (0, 20, 40, 60, 80, 100) if tick <= max(max(shares, default=0), 20)])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("share of the variance of log time (%)")
    axes.set_title("each parameter alone")


def _draw_pairs(axes: Axes, importance: Importance, names: Sequence[str]) -> None:
    table = np.full((len(names), len(names)), np.nan)
    for pair in importance.pairs:
        if pair.first in names and pair.second in names:
            one, other = sorted((names.index(pair.first), names.index(pair.second)))
            table[other, one] = 100 * pair.share
    top = max(float(np.nanmax(table)), 1.0)
    for (row, column), share in np.ndenumerate(table[1:, :-1]):
        if not np.isnan(share):
            shade = _PALE + (1 - _PALE) * min(share / top, 1.0)
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=COLOURS[0], alpha=shade, linewidth=0))
        if share >= 0.5:
            colour = "white" if share > _DARK * top else "#444444"
            axes.text(column, row, f"{share:.0f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_aspect("equal")
    axes.set_xlim(-0.5, len(names) - 1.5)
    axes.set_ylim(len(names) - 1.5, -0.5)
    axes.set_yticks(range(len(names) - 1), names[1:])
    axes.set_xticks(range(len(names) - 1), names[:-1], rotation=45, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title("pairs, beyond both alone (%)")
