"""Roofline plots: operations per second by intensity where they are known, else bytes per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from warpsmith.report.ratios import ratio_axis
from warpsmith.report.style import COLOURS

_INCHES = (7.4, 3.6)
_ROW_INCHES, _FRAME_INCHES = 0.34, 1.15
_ORIGINAL, _BEST, _ROOF = "#888888", COLOURS[0], COLOURS[1]


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """One workload: what a launch must move and compute, what the original and the best take, and what the machine would."""

    workload: str
    moved_bytes: float
    flops: float
    original_us: float
    best_us: float
    roof_us: float
    stream_us: float | None = None  # for the bytes alone

    @property
    def intensity(self) -> float:
        return self.flops / self.moved_bytes


def is_by_intensity(points: Sequence[RoofPoint], peak_gflops: float | None) -> bool:
    return peak_gflops is not None and all(point.flops > 0 and point.moved_bytes > 0 for point in points)


def draw_roofline(points: Sequence[RoofPoint], peak_gflops: float | None) -> Figure:
    if peak_gflops is not None and is_by_intensity(points, peak_gflops):
        return _by_intensity(points, peak_gflops)
    return _by_bandwidth(points)


def _by_intensity(points: Sequence[RoofPoint], peak: float) -> Figure:
    """The memory's roof is that of the workload with the most bytes: smaller ones may be faster, in caches."""
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    largest = max(points, key=lambda point: point.moved_bytes)
    bandwidth = largest.moved_bytes / (largest.stream_us or largest.roof_us) / 1e3  # GB/s
    ridge = peak / bandwidth
    intensities = [point.intensity for point in points]
    low, high = min([*intensities, ridge]) / 3, max([*intensities, ridge]) * 3
    x = np.geomspace(low, high, 200)
    roof = np.minimum(peak, bandwidth * x)
    axes.plot(x, roof, color=_ROOF, linewidth=1.6, label=f"roof: {bandwidth:.3g} GB/s, {peak:.3g} GFLOP/s, as measured")
    for us, colour, marker, label in (("original_us", _ORIGINAL, "s", "original"), ("best_us", _BEST, "o", "best")):
        rates = [point.flops / getattr(point, us) / 1e3 for point in points]
        axes.plot(intensities, rates, linestyle="none", marker=marker, markersize=6, color=colour, label=label)
    own = [point.flops / point.roof_us / 1e3 for point in points]
    axes.plot(intensities, own, linestyle="none", marker="_", markersize=12, color=_ROOF, label="a workload's own roof")
    rates = [point.flops / us / 1e3 for point in points for us in (point.original_us, point.best_us)]
    for point in points:
        ends = [point.flops / us / 1e3 for us in (point.original_us, point.roof_us)]
        axes.plot([point.intensity] * 2, ends, color="#888888", linewidth=0.7, zorder=0)
    ratio_axis(axes, "x", low, high)
    ratio_axis(axes, "y", min([*rates, *own]) / 1.6, max([*roof, *own, *rates]) * 1.6)
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("GFLOP/s")
    _legend(figure)
    return figure


def _by_bandwidth(points: Sequence[RoofPoint]) -> Figure:
    height = _FRAME_INCHES + _ROW_INCHES * len(points)
    figure = Figure(figsize=(_INCHES[0], height), layout="constrained")
    axes = figure.subplots()
    places = range(len(points))
    rates = {us: [p.moved_bytes / getattr(p, us) / 1e3 for p in points] for us in ("original_us", "best_us", "roof_us")}
    for place in places:
        axes.plot([rates["original_us"][place], rates["roof_us"][place]], [place] * 2, color="#888888", linewidth=0.7, zorder=0)
    for us, colour, marker, label in (
        ("original_us", _ORIGINAL, "s", "original"),
        ("best_us", _BEST, "o", "best"),
        ("roof_us", _ROOF, "|", "roof, as measured"),
    ):
        axes.plot(
            rates[us], places, linestyle="none", marker=marker, markersize=12 if marker == "|" else 6, color=colour, label=label
        )
    every = [rate for found in rates.values() for rate in found]
    ratio_axis(axes, "x", min(every) / 1.4, max(every) * 1.4)
    _name_rows(axes, points)
    axes.set_xlabel("GB/s")
    _legend(figure)
    return figure


def _name_rows(axes: Axes, points: Sequence[RoofPoint]) -> None:
    axes.set_yticks(range(len(points)), [point.workload for point in points])
    axes.set_ylim(len(points) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _legend(figure: Figure) -> None:
    figure.legend(loc="outside lower left", ncols=2, frameon=False)
