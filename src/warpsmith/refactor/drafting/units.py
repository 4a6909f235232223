"""Cuts source into the pieces that a merge may put between `#if`s, and knows which of them are conditional directives.

A unit is a line, unless cutting there would change the meaning: continued lines, comments and raw strings over several lines, and
the arguments of a macro (where a directive has no defined meaning) stay together. So do a pragma and the statement it is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from warpsmith.spec.comments import without_noise

_PIECE = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|\Z))
      | (?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<continued>\\\n)
      | (?P<call>[A-Za-z_]\w*)(?=\s*\()
      | (?P<bracket>[()])
      | \w+ | .""",
    re.VERBOSE | re.DOTALL,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", re.MULTILINE)
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b(?![ \t]*once)")
_SHOUTED = re.compile(r"[A-Z][A-Z0-9_]+")
_PLAIN = re.compile(r"\s*(?:[{}()\];,\s]|else\b|do\b|//.*)*\s*")


@dataclass(frozen=True, slots=True)
class Unit:
    """`text` is one or more whole lines, without the last line end."""

    text: str

    @property
    def key(self) -> str:
        """What it says: how far lines are indented is no difference, except where blanks may be part of a string."""
        return _key(self.text)

    @property
    def directive(self) -> str | None:
        """`if`, `else` or `endif` when it is a conditional directive of some spelling."""
        found = _CONDITIONAL.match(self.text)
        if found is None:
            return None
        return "endif" if found[1] == "endif" else "else" if found[1].startswith("el") else "if"

    @property
    def depth(self) -> int:
        """Braces that it opens, less those that it closes."""
        return _depth(self.text)

    @property
    def closes(self) -> bool:
        """Whether it is a closing brace and nothing more."""
        return self.text.strip() == "}"

    @property
    def trivial(self) -> bool:
        """Whether it says too little to be a landmark: blank, brackets, a comment."""
        return _PLAIN.fullmatch(self.text) is not None


# Forms of a kernel have most of their lines in common, and aligning them asks for each many times.
@lru_cache(maxsize=1 << 14)
def _key(text: str) -> str:
    if "\\\n" in text or 'R"' in text:
        return text
    return "\n".join(line.strip() for line in text.split("\n"))


@lru_cache(maxsize=1 << 14)
def _depth(text: str) -> int:
    plain = without_noise(text)
    return plain.count("{") - plain.count("}")


def units_of(text: str) -> list[Unit]:
    """The whole text in order: joined with line ends the units give it back."""
    if text == "":
        return []
    glued = _glued_lines(text)
    units: list[list[str]] = []
    for number, line in enumerate(text.split("\n")):
        follows_pragma = bool(units) and _PRAGMA.match(units[-1][-1]) is not None and not _CONDITIONAL.match(line)
        if number in glued or follows_pragma:
            units[-1].append(line)
        else:
            units.append([line])
    if any(len(lines) > 1 and _cuts_a_group("\n".join(lines)) for lines in units):
        return [Unit(text)]
    return [Unit("\n".join(lines)) for lines in units]


def text_of(units: list[Unit]) -> str:
    return "\n".join(unit.text for unit in units)


def _cuts_a_group(text: str) -> bool:
    """Whether conditional directives lie inside a unit: `FOO(a,` in one branch, and its end behind the `#endif`."""
    return any(_CONDITIONAL.match(line) for line in without_noise(text).split("\n")[1:])


def _glued_lines(text: str) -> set[int]:
    """Numbers (from 0) of the lines that belong to the line before."""
    macros = set(_MACRO.findall(text))
    glued: set[int] = set()
    line, depth, macro_depth = 0, 0, None
    pending_macro = False
    for piece in _PIECE.finditer(text):
        kind, found = piece.lastgroup, piece[0]
        ends = found.count("\n")
        if kind == "mark":
            kind = "raw"
        if kind in {"comment", "raw", "continued"} or (ends and macro_depth is not None):
            glued.update(range(line + 1, line + 1 + ends))
        elif kind == "call":
            pending_macro = found in macros or _SHOUTED.fullmatch(found) is not None
        elif kind == "bracket":
            if found == "(":
                depth += 1
                if pending_macro and macro_depth is None:
                    macro_depth = depth
            else:
                if macro_depth == depth:
                    macro_depth = None
                depth = max(depth - 1, 0)
            pending_macro = False
        line += ends
    return glued
