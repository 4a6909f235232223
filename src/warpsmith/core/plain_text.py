"""Sanitises third-party text for output: names, reasons and source in comments, tables and messages."""

from __future__ import annotations

import re


def printable(text: str, also: str = "") -> str:
    """Without control characters, line ends and bidirectional marks; characters of `also` are kept."""
    return "".join(c if c.isprintable() or c in also else " " for c in text)


def on_one_line(text: str) -> str:
    """Printable characters alone, and single spaces in the place of everything else."""
    return " ".join(printable(text).split())


def in_a_comment(text: str) -> str:
    """On one line of C, and no further: after a backslash, or a trigraph that is one, a comment goes on in the next line."""
    return re.sub(r"\?{2,}", "?", on_one_line(text).replace("\\", "/"))
