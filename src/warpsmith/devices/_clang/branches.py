"""Evaluates `#if` branches that the file's own macros and the command line decide.

Items are delimited by braces, and a template file has alternatives whose braces only match within one configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.devices._clang.tokens import Kind, Token

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b(.*)", re.DOTALL)
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"\s*(\w+)\s+(\d+)\s*")


def live(tokens: Sequence[Token], defines: Mapping[str, Value]) -> Iterator[Token]:
    """The text without branches that are certainly not taken. Directives of groups stay, and so do definitions."""
    numbers = {**_numbers(tokens), **{name: int(value) for name, value in defines.items() if isinstance(value, int)}}
    open_groups: list[tuple[bool, bool]] = []  # of each group around: whether its branch counts, whether another one before did
    for token in tokens:
        if token.kind is not Kind.DIRECTIVE:
            if all(counts for counts, _ in open_groups):
                yield token
            continue
        match = _DIRECTIVE.fullmatch(token.text)
        word, rest = (match[1], _COMMENT.sub("", match[2]).strip()) if match else ("", "")
        if word in {"if", "ifdef", "ifndef"}:
            holds = _holds(word, rest, numbers, defines)
            open_groups.append((holds is not False, holds is True))
        elif word in {"elif", "else"} and open_groups:
            _, done = open_groups.pop()
            holds = True if word == "else" else _holds("if", rest, numbers, defines)
            open_groups.append((not done and holds is not False, done or holds is True))
        elif word == "endif" and open_groups:
            open_groups.pop()
        if word not in {"elif", "else"} or not open_groups or open_groups[-1][0]:
            yield token


def _holds(word: str, condition: str, numbers: Mapping[str, int], defines: Mapping[str, Value]) -> bool | None:
    """None if unknown."""
    if word != "if":
        return (word == "ifdef") if condition in defines else None
    if re.search(r"!(?!=)", condition):
        return None  # binds otherwise in an expression of ours
    try:
        return bool(Expression.parse(condition.replace("&&", " and ").replace("||", " or ")).evaluate(numbers))
    except InputError:
        return None


def _numbers(tokens: Sequence[Token]) -> dict[str, int]:
    """Values of macros that the file defines once."""
    found: dict[str, int | None] = {}
    for token in tokens:
        match = _DIRECTIVE.fullmatch(token.text) if token.kind is Kind.DIRECTIVE else None
        if match is None or match[1] not in {"define", "undef"}:
            continue
        number = _NUMBER.fullmatch(_COMMENT.sub("", match[2]))
        name = match[2].split("(")[0].split()[0] if match[2].split() else ""
        found[name] = int(number[2]) if number and match[1] == "define" and name not in found else None
    return {name: value for name, value in found.items() if value is not None}
