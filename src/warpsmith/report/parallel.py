"""Every measured configuration as a line through its values to its time: parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from warpsmith.core.configuration import Value
from warpsmith.report.style import COLOURS

_AXIS_INCHES, _HEIGHT_INCHES = 1.0, 3.4
_LINES = 220  # the fastest, and some of the others: more are a blot, and make the page large
_FAST = 0.1  # of the configurations, which stand out
_SPREAD = 0.055  # of a value's lines, so that they do not cover each other
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def draw_parallel(
    parameters: Sequence[tuple[str, Sequence[Value]]], measured: Sequence[tuple[Mapping[str, Value], float]]
) -> Figure:
    """`measured` are configurations with their times relative to the original's; the last axis is that time, fast at the top."""
    figure = Figure(figsize=(1.6 + _AXIS_INCHES * (len(parameters) + 1), _HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots()
    ranked = sorted(measured, key=lambda pair: pair[1])
    fast = max(1, round(_FAST * len(ranked)))
    rest = ranked[fast:]
    shown = ranked[:fast][:_LINES] + rest[:: 1 + len(rest) // _LINES]
    logs = np.log([time for _, time in measured])
    low, high = float(logs.min()), float(logs.max())
    span = (high - low) or 1.0
    rng = np.random.default_rng(0)
    x = range(len(parameters) + 1)
    for number, (values, time) in reversed(list(enumerate(shown))):
        heights = [_height(allowed, values[name]) + rng.uniform(-_SPREAD, _SPREAD) / len(allowed) for name, allowed in parameters]
        heights.append((high - float(np.log(time))) / span)
        is_best, is_fast = number == 0, number < min(fast, _LINES)
        axes.plot(
            x,
            heights,
            color=COLOURS[1] if is_fast else COLOURS[0],
            alpha=1.0 if is_best else 0.55 if is_fast else 0.16,
            linewidth=2.4 if is_best else 1.0,
            zorder=3 if is_best else 2 if is_fast else 1,
        )
    for place, (_, allowed) in enumerate(parameters):
        axes.axvline(place, color="#888888", linewidth=0.8, zorder=0)
        for value in allowed:
            axes.text(place - 0.04, _height(allowed, value), str(value), ha="right", va="center", fontsize=8, zorder=4)
    axes.axvline(len(parameters), color="#888888", linewidth=0.8, zorder=0)
    for tick in _TICKS:
        if low - 1e-9 <= np.log(tick) <= high + 1e-9:
            axes.text(
                len(parameters) + 0.04, (high - float(np.log(tick))) / span, f"{tick:g}", ha="left", va="center", fontsize=8
            )
    names = [name for name, _ in parameters]
    axes.set_xticks(list(x), [*names, "time"], rotation=0 if sum(map(len, names)) < 11 * len(names) else 20)
    axes.set_yticks([])
    axes.set_ylim(-0.08, 1.08)
    axes.set_xlim(-0.55, len(parameters) + 0.4)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


def _height(allowed: Sequence[Value], value: Value) -> float:
    return 0.5 if len(allowed) < 2 else list(allowed).index(value) / (len(allowed) - 1)
