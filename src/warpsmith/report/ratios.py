"""Axes of ratios: logarithmic, because half as fast and twice as fast are as far from 1, with plain numbers at them."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

# Ticks of a decade, by how far the ends may lie apart: finer ones would run into each other.
_TICKS = {
    2.5: (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    8.0: (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0),
    math.inf: (1.0, 2.0, 5.0),
}


def ratio_axis(axes: Axes, which: Literal["x", "y"], low: float, high: float, unit: str = "") -> None:
    """From `low` to `high`; `unit` follows each number."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    ticks = next(ticks for widest, ticks in _TICKS.items() if high / low <= widest)
    axis.set_major_locator(LogLocator(base=10, subs=ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{unit}"))
    axis.set_minor_locator(NullLocator())
