"""Plots: both files, the same bytes for the same curves, and lines that can be told apart."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from warpsmith.report.curves import Line, Panel, draw_curves


def panel(title: str, lines: int, band: bool = True) -> Panel:
    x = np.arange(1.0, 51.0)
    drawn = [
        Line(f"strategy {n}", x, 1 - 0.5 / (x + n), (1 - 0.6 / (x + n), 1 - 0.4 / (x + n)) if band else None)
        for n in range(lines)
    ]
    return Panel(title, "evaluations", tuple(drawn))


def test_one_legend_and_every_panel(tmp_path: Path):
    panels = [panel(f"space {n}", 2) for n in range(5)]
    vector, bitmap = draw_curves(panels, "Best so far", "optimum / best", tmp_path / "new" / "plot.v1")
    assert vector == tmp_path / "new" / "plot.v1.svg"
    assert bitmap.read_bytes().startswith(b"\x89PNG")
    text = vector.read_text()
    for n in range(5):
        assert f">space {n}<" in text
    assert text.count(">strategy 0<") == 1
    assert text.count(">optimum / best<") == 2, "once for each row of panels"


def test_the_same_curves_give_the_same_file(tmp_path: Path):
    first, _ = draw_curves([panel("a", 3)], "t", "y", tmp_path / "one")
    again, _ = draw_curves([panel("a", 3)], "t", "y", tmp_path / "two")
    assert first.read_bytes() == again.read_bytes()


def test_lines_differ_in_colour_and_dashes(tmp_path: Path):
    vector, _ = draw_curves([panel("a", 10, band=False)], "t", "y", tmp_path / "many")
    legend = vector.read_text().split('id="legend_1"')[1]
    styles = re.findall(r'style="fill: none; ([^"]*)"', legend)
    assert len(styles) == 10
    assert len(set(styles)) == 10
