"""A replay on disk: trials.csv (every evaluation), summary.json (what `--json` prints) and two plots, as SVG and PNG."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from warpsmith.core.outcome import Measured
from warpsmith.replay.result import Cell, Floats, ReplayResult, interval_over_seeds
from warpsmith.report.curves import Line, Panel, draw_curves

_COLUMNS = ("space", "strategy", "seed", "evaluation", "outcome", "score", "fraction", "simulated_s")
_GRID = 400
_TIME_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def write_result(result: ReplayResult, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "trials.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for cell in result.cells:
            writer.writerows(_evaluations(result, cell))
    (folder / "summary.json").write_text(json.dumps(result.as_dict(), indent=2) + "\n", encoding="utf-8")
    seeds = f"{result.plan.seeds} seeds, 95 % interval" if result.plan.seeds > 1 else "1 seed"
    y_label = "optimum / best so far"
    draw_curves(_by_evaluations(result), f"Best so far by evaluations ({seeds})", y_label, folder / "by-evaluations")
    timed = _by_time(result)
    if timed:
        title = f"Best so far by simulated tuning time: compile + verify + benchmark ({seeds})"
        draw_curves(timed, title, y_label, folder / "by-time")


def _evaluations(result: ReplayResult, cell: Cell) -> Iterator[tuple[object, ...]]:
    recording = result.recordings[cell.space]
    for seed, numbers in enumerate(cell.evaluated):
        for at, number in enumerate(numbers):
            outcome = recording.outcomes[number]
            score = f"{outcome.score:.6g}" if isinstance(outcome, Measured) else ""
            fraction, seconds = f"{cell.fraction[seed, at]:.6f}", f"{cell.seconds[seed, at]:.3f}"
            yield cell.space, cell.strategy, seed, at + 1, type(outcome).__name__, score, fraction, seconds


def _by_evaluations(result: ReplayResult) -> list[Panel]:
    x = np.arange(1.0, result.plan.evaluations + 1)
    return [
        Panel(title, "evaluations", tuple(_line(s, x, result.by_seed(space, s)) for s in result.plan.strategies))
        for title, space in _titles(result)
    ]


def _by_time(result: ReplayResult) -> list[Panel]:
    """Each space in its own unit of time; their average in evaluations of mean cost, because spaces differ by magnitudes."""
    timed = {name for name, recording in result.recordings.items() if recording.seconds.any()}
    panels = []
    for title, space in _titles(result):
        if space is not None and space in timed:
            longest = max(float(c.seconds[:, -1].min()) for c in result.cells if c.space == space)
            unit_s, unit = next((u for u in _TIME_UNITS if longest >= u[0]), _TIME_UNITS[-1])
            panels.append(_time_panel(result, title, f"simulated time ({unit})", {space: unit_s}))
        elif space is None and timed == set(result.recordings):
            means = {name: float(recording.seconds.mean()) for name, recording in result.recordings.items()}
            panels.append(_time_panel(result, title, "simulated time / mean cost of an evaluation", means))
    return panels


def _time_panel(result: ReplayResult, title: str, label: str, units_s: Mapping[str, float]) -> Panel:
    """The mean over the spaces in `units_s`, each in its unit."""
    lines = []
    for strategy in result.plan.strategies:
        cells = [(cell, units_s[cell.space]) for cell in result.cells if cell.strategy == strategy and cell.space in units_s]
        # No further than every trial went: beyond its end a curve would be an invention.
        x = np.linspace(0.0, min(float(cell.seconds[:, -1].min()) / unit_s for cell, unit_s in cells), _GRID)
        lines.append(_line(strategy, x, np.mean([_at_times(cell, x * unit_s) for cell, unit_s in cells], axis=0)))
    return Panel(title, label, tuple(lines))


def _at_times(cell: Cell, times: Floats) -> Floats:
    """The fraction that each seed had reached at these times; 0 before its first evaluation was over."""
    rows = []
    for fraction, seconds in zip(cell.fraction, cell.seconds, strict=True):
        rows.append(np.concatenate([[0.0], fraction])[np.searchsorted(seconds, times, side="right")])
    return np.stack(rows)


def _titles(result: ReplayResult) -> list[tuple[str, str | None]]:
    names: list[tuple[str, str | None]] = [(name, name) for name in result.plan.files]
    return names if len(names) == 1 else [(f"average of {len(names)} spaces", None), *names]


def _line(label: str, x: Floats, by_seed: Floats) -> Line:
    return Line(label, x, by_seed.mean(axis=0), interval_over_seeds(by_seed))
