"""Plot of times by parameter value: every measured time, and the best of each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from warpsmith.core.configuration import Value
from warpsmith.report.ratios import ratio_axis
from warpsmith.report.style import COLOURS

_INCHES = (3.1, 2.25)
_POINTS = 250  # of a value: more are a blot, and make the page large
_SPREAD = 0.22  # of a value's points to the sides, so that they do not cover each other


def draw_by_value(name: str, times: Mapping[Value, Sequence[float]], best: Value | None) -> Figure:
    """`times` are relative to the original's, by value, in the parameter's order; `best` is the value to stand out."""
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    rng = np.random.default_rng(0)
    for place, everything in enumerate(times.values()):
        some = everything[:: 1 + len(everything) // _POINTS]
        sides = place + rng.uniform(-_SPREAD, _SPREAD, size=len(some))
        axes.plot(sides, some, linestyle="none", marker="o", markersize=2.6, color=COLOURS[0], alpha=0.4)
    least = [min(some, default=np.nan) for some in times.values()]
    axes.plot(range(len(least)), least, color=COLOURS[1], linewidth=1.4, marker="D", markersize=3.6)
    axes.set_xticks(range(len(times)), [str(value) for value in times])
    if len(times) > 6:
        axes.tick_params(axis="x", labelrotation=45)
    for label, value in zip(axes.get_xticklabels(), times, strict=True):
        label.set_fontweight("bold" if value == best else "normal")
    axes.set_xlim(-0.6, len(times) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.set_title(name)
    ratio_axis(axes, "y", min(map(min, times.values())) / 1.25, max(map(max, times.values())) * 1.25)
    return figure
