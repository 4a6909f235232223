"""Comments in C and C++ sources: what is said in them is no code."""

from __future__ import annotations

import re

# Comments and literals: where one begins inside the other, it does not count.
NOISE = re.compile(r'//(?:[^\n\\]|\\.)*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)


def blanked(text: str) -> str:
    """Blanks at equal length, newlines kept: places stay valid."""
    return re.sub(r"[^\n]", " ", text)


def with_blank_comments(source: str) -> str:
    """The source with its comments blanked out; literals stay."""
    return NOISE.sub(lambda match: blanked(match[0]) if match[0].startswith("/") else match[0], source)


def without_noise(source: str) -> str:
    """The source with comments and literals blanked out."""
    return NOISE.sub(lambda match: blanked(match[0]), source)
