"""Text of others as a part of what we write: names, reasons and source that end up in comments, tables and messages."""

from __future__ import annotations

import re


def printable(text: str, also: str = "") -> str:
    """Without what would drive a terminal, end a line or hide the order of words; `also` may stand in it too."""
    return "".join(c if c.isprintable() or c in also else " " for c in text)


def on_one_line(text: str) -> str:
    """Printable characters alone, and single spaces in the place of everything else."""
    return " ".join(printable(text).split())


def in_a_comment(text: str) -> str:
    """On one line of C, and no further: after a backslash, or a trigraph that is one, a comment goes on in the next line."""
    return re.sub(r"\?{2,}", "?", on_one_line(text).replace("\\", "/"))
