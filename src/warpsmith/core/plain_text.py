"""Text of others as a part of what we write: names, reasons and source that end up in comments, tables and messages."""

from __future__ import annotations


def on_one_line(text: str) -> str:
    """Printable characters alone, and single spaces in the place of everything else."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
