"""Tracks what a model has already been told, so that a turn contains only new information."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = "```"
_TABLE = "|"
_ITEM = re.compile(r"^(?:[-|]|\s)")


class Told:
    """What the turns that are remembered have said: a further turn says only what is new."""

    def __init__(self, said: set[str]) -> None:
        self._before = said
        self.now: set[str] = set()

    def news(self, text: str, nothing: str = "Nothing new.") -> str:
        """The parts of a text that were not told before: lines, whole tables and code, headings with what is below them."""
        kept: list[str] = []
        heading: str | None = None
        for part in _parts(text):
            if not part.strip():
                kept += [part] if kept and kept[-1].strip() else []
                continue
            is_new = part not in self._before
            self.now.add(part)
            if part.endswith(":") and not _ITEM.match(part):
                heading = part
                continue
            if is_new:
                kept += [heading] if heading is not None else []
                kept.append(part)
                heading = None
            elif not _ITEM.match(part):
                heading = None
        return "\n".join(kept).strip() or nothing

    def is_new(self, text: str) -> bool:
        """Whether it was not told yet; from now on it was."""
        self.now.add(text)
        return text not in self._before


def _parts(text: str) -> Iterator[str]:
    """Lines, and as wholes what is of no use in pieces: fenced code and tables."""
    lines = iter([*text.split("\n"), None])
    line = next(lines)
    while line is not None:
        piece = [line]
        line = next(lines)
        if piece[0].startswith(_FENCE):
            while line is not None and (len(piece) == 1 or piece[-1] != _FENCE):
                piece.append(line)
                line = next(lines)
        elif piece[0].startswith(_TABLE):
            while line is not None and line.startswith(_TABLE):
                piece.append(line)
                line = next(lines)
        yield "\n".join(piece)
