"""Just enough of the C preprocessor to know which names a source uses and how its parameters get their defaults.

It reads text; what a compiler makes of it is the device's business (`Device.preprocess`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.isolation.folders import lies_in
from warpsmith.spec.comments import NOISE, without_noise
from warpsmith.spec.includes import included_files

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Define:
    """One `#define NAME body`. `guarded` when it only applies where the name is not defined yet."""

    name: str
    body: str
    body_span: tuple[int, int]
    line: int
    guarded: bool


def without_comments(source: str) -> str:
    """The source with a blank for every comment, as the preprocessor has it; literals stay."""
    return NOISE.sub(lambda match: " " if match.group().startswith("/") else match.group(), source)


def object_defines(source: str) -> Iterator[Define]:
    """Object-like macros, in order."""
    text = without_noise(source)
    guards: list[str | None] = []
    for match in _DIRECTIVE.finditer(text):
        word, rest = match[1], match[2]
        match word:
            case "if" | "ifdef" | "ifndef":
                guards.append(_guarded_name(word, rest))
            case "else" | "elif" if guards:
                guards[-1] = None
            case "endif" if guards:
                guards.pop()
            case "define":
                found = re.match(r"\s+([A-Za-z_]\w*)(?!\w|\()[ \t]*", rest)
                if found:
                    start = match.start(2) + found.end()
                    end = start + len(text[start : match.end()].rstrip())
                    line = text.count("\n", 0, match.start()) + 1
                    yield Define(found[1], source[start:end], (start, end), line, found[1] in guards)
            case _:
                pass


def with_includes(path: Path, source: str, include_dirs: Iterable[Path]) -> list[str]:
    """The source and, as far as they can be found in these folders, the files it includes with quotes, each once."""
    folders = tuple(include_dirs)
    found = included_files(path, source, folders, lambda file: lies_in(file, (path.parent, *folders)))
    return [source, *(text for _, text in found)]


def _guarded_name(word: str, condition: str) -> str | None:
    if word == "ifndef":
        found = _IDENTIFIER.search(condition)
        return found.group() if found else None
    negated = re.fullmatch(r"\s*!\s*defined\s*\(?\s*([A-Za-z_]\w*)\s*\)?\s*", condition) if word == "if" else None
    return negated[1] if negated else None
