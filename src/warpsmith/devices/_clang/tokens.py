"""Splits C-family text into tokens with positions. Handles comments, strings, raw strings and directives; no grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    PUNCTUATION = "punctuation"
    DIRECTIVE = "directive"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//(?:[^\n\\]|\\.)*|/\*.*?\*/|\\\r?\n)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<punctuation><<<|>>>|<=>|->\*|\.\.\.|<<=|>>=|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*")
_KINDS = {"raw": Kind.STRING, "string": Kind.STRING, "number": Kind.NUMBER, "word": Kind.WORD, "punctuation": Kind.PUNCTUATION}


def spliced(text: str) -> str:
    """Line continuations joined, as a compiler does, even within a word."""
    return re.sub(r"\\[ \t]*\r?\n", "", text)


def tokenize(text: str) -> Iterator[Token]:
    """Comments and white space are dropped; a preprocessor directive is one token."""
    position, line, line_start = 0, 1, True
    while position < len(text):
        directive = _DIRECTIVE.match(text, position) if line_start else None
        if directive:
            yield Token(Kind.DIRECTIVE, directive[0], position, line)
            line += directive[0].count("\n")
            position, line_start = directive.end(), False
            continue
        match = _TOKEN.match(text, position)
        assert match is not None, "the last alternative takes any character"
        group = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        piece = match[0]
        if group == "skip":
            line_start = line_start or "\n" in piece
        else:
            yield Token(_KINDS[group or ""], piece, position, line)
            line_start = False
        line += piece.count("\n")
        position = match.end()


def words(text: str) -> set[str]:
    """Every identifier in the text, directives included: a cheap over-approximation of the names used."""
    return set(re.findall(r"[A-Za-z_]\w*", text))
