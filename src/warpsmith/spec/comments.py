"""Blanks comments and `#if 0` branches in C and C++ sources."""

from __future__ import annotations

import re

# Comments and literals: one that begins inside the other does not count.
NOISE = re.compile(r'//(?:[^\n\\]|\\.)*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DONE = "another branch is taken"
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*([^\n]*)")


def blanked(text: str) -> str:
    """Blanks at equal length, newlines kept: positions stay valid."""
    return re.sub(r"[^\n]", " ", text)


def with_blank_comments(source: str) -> str:
    """The source with comments blanked; literals stay."""
    return NOISE.sub(lambda match: blanked(match[0]) if match[0].startswith("/") else match[0], source)


def without_noise(source: str) -> str:
    """The source with comments and literals blanked."""
    return NOISE.sub(lambda match: blanked(match[0]), source)


def with_blank_dead_code(source: str) -> str:
    """The source with comments blanked, and code under `#if 0` or in the `#else` of `#if 1`."""
    lines = source.splitlines(keepends=True)
    conditions: list[str] = []  # of each #if around a line, for as long as they say what is taken
    for number, line in enumerate(lines):
        found = _CONDITIONAL.match(line)
        word, condition = (found[1], found[2].strip()) if found else ("", "")
        if word.startswith("if"):
            conditions.append(condition if word == "if" else "")
        elif word == "endif" and conditions:
            conditions.pop()
        elif word and conditions:
            conditions[-1] = _DONE if conditions[-1] in {"1", _DONE} else condition
        elif not {"0", _DONE}.isdisjoint(conditions):
            lines[number] = blanked(line)
    return "".join(lines)


def used_identifiers(source: str) -> frozenset[str]:
    """Every name that the source uses, in code or in a directive; defining a default for a name is not a use."""
    text = without_noise(source)
    blanked = re.sub(r"^[ \t]*#[ \t]*(?:ifndef|ifdef|undef|define)[ \t]+\w+", "", text, flags=re.MULTILINE)
    blanked = re.sub(r"\bdefined[ \t]*\(?[ \t]*\w+", "", blanked)
    return frozenset(_IDENTIFIER.findall(blanked))
