"""Figures as inline SVG: small, in the page's colours and font, with unique ids."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from warpsmith.report.style import COLOURS

# Colours of `report.style`, by the page's names for them: it has others for dark screens.
_THEME = {
    "#444444": "var(--ink-soft)",
    "#888888": "var(--axis)",
    "#e4e4e4": "var(--grid)",
    **{colour.lower(): f"var(--series-{number})" for number, colour in enumerate(COLOURS)},
}
_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_POINTS_PER_INCH = 72  # what an SVG is measured in
_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def inline_svg(figure: Figure, name: str, alt: str, tips: Mapping[str, Sequence[str]] | None = None) -> str:
    """Markup of the figure. `name` is its own on the page, `alt` what those hear who do not see it.

    `tips` has, by an artist's gid, a text for each of its markers, shown when the pointer rests there. Call it within
    `rc_context(STYLE)`: some of the style takes effect when saving.
    """
    text = _DROPPED.sub("", _drawn(figure)).strip()
    for gid, words in (tips or {}).items():
        text = _with_tips(text, gid, words)
    text = _own_ids(text, name)
    for colour, variable in _THEME.items():
        text = text.replace(colour, variable)
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)  # a hundredth of a point is finer than any screen
    text = re.sub(r"font-family: [^;\"]+", "font-family: inherit", text)
    return _with_head(re.sub(r"\s*\n\s*", " ", text), alt)


def _drawn(figure: Figure) -> str:
    """As `savefig` with a transparent ground, which would draw the figure once more beforehand, for nobody."""
    written = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    figure.dpi = _POINTS_PER_INCH
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set(facecolor="none", edgecolor="none")
    with warnings.catch_warnings():
        # A name may have letters that this font lacks: it only serves to guess their width, the browser has another.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas.print_svg(written, metadata=_METADATA)
    return written.getvalue()


def _with_tips(text: str, gid: str, words: Sequence[str]) -> str:
    """Markers come in the order of the artist's points."""
    start = text.index(f'id="{gid}"')
    end = text.index("</g>", start)  # markers stand in a group of their own, which is the first to end
    said = iter(words)
    marked = re.sub(
        r"<use ([^>]*)/>",
        lambda match: f"<use {match[1]}><title>{html.escape(next(said, ''))}</title></use>",
        text[start:end],
    )
    return text[:start] + marked + text[end:]


def _own_ids(text: str, name: str) -> str:
    """Ids that something refers to begin with the figure's name; the others are of no use."""
    text = text.replace("xlink:href=", "href=")
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", text)
    return re.sub(r'(url\(|href=")#', rf"\g<1>#{name}-", text)


def _with_head(text: str, alt: str) -> str:
    box = re.search(r'viewBox="([^"]+)"', text)
    assert box is not None, "matplotlib writes a viewBox"
    width = float(box[1].split()[2]) * 4 / 3  # points to CSS pixels: the size at which its letters are as large as meant
    head = f'<svg viewBox="{box[1]}" style="max-width: {width:.0f}px" role="img" aria-label="{html.escape(alt)}">'
    return re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)
