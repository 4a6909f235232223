"""The common style of plots, and writing them as SVG and PNG, deterministically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

# Okabe and Ito's colours stay apart for every kind of colour vision; past them, and in print, the dashes tell lines apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "svg.fonttype": "none",
    "svg.hashsalt": "warpsmith",  # the same figures give the same file
}
_DPI = 160


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png. Call it within `rc_context(STYLE)`: some of the style takes effect when saving."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    vector, bitmap = stem.with_name(stem.name + ".svg"), stem.with_name(stem.name + ".png")
    figure.savefig(vector, metadata={"Date": None})
    figure.savefig(bitmap, dpi=_DPI)
    return vector, bitmap
