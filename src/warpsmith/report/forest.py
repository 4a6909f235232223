"""Forest plot: speedups with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from warpsmith.record.result import Figures
from warpsmith.report.ratios import ratio_axis
from warpsmith.report.style import COLOURS
from warpsmith.report.wording import speedup_text

_WIDTH_INCHES = 6.4
_ROW_INCHES = 0.3
_LONGEST_NAME = 36  # characters: the plot needs room, too


def draw_speedups(claims: Mapping[str, Figures], heldout: frozenset[str]) -> Figure:
    """`claims` by the words beside them; those held out are hollow."""
    figure = Figure(figsize=(_WIDTH_INCHES, 0.9 + _ROW_INCHES * len(claims)), layout="constrained")
    axes = figure.subplots()
    speedups = [claim.speedup for claim in claims.values()]
    lowest, highest = min([*speedups, 1.0]), max([*speedups, 1.0])
    # An interval may be far wider than the speedups differ: it is cut where it would leave no room for them.
    left = max(min([lowest, *(claim.ci95[0] for claim in claims.values())]), lowest / 3) / 1.12
    right = min(max([highest, *(claim.ci95[1] for claim in claims.values())]), highest * 3) * 1.12
    for place, (name, claim) in enumerate(claims.items()):
        colour = COLOURS[1] if claim.ci95[1] < 1 else COLOURS[0]
        axes.plot(claim.ci95, [place, place], color=colour, linewidth=2, solid_capstyle="butt", alpha=0.55)
        face = "none" if name in heldout else colour
        axes.plot([claim.speedup], [place], marker="o", markersize=6, color=colour, markerfacecolor=face)
    axes.axvline(1, color="#888888", linewidth=0.8, linestyle=(0, (4, 2)))
    ratio_axis(axes, "x", left, right, "x")
    labels = [f"{_cut(name)}  {speedup_text(claim.speedup)}" for name, claim in claims.items()]
    axes.set_yticks(range(len(claims)), labels)
    axes.invert_yaxis()
    axes.set_ylim(len(claims) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("speedup over the original, with its 95 % interval")
    return figure


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
