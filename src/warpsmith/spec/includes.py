"""Finds the files that a source includes, for compiling, templates and exporting.

It reads text without preprocessing: lines in branches that are not taken count too.

A folder that `#include "../common/helpers.h"` reaches belongs to the kernel, since its author wrote the line; source text that
someone else writes later may not name further folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from warpsmith.core.file_names import is_file

_INCLUDE = re.compile(r'^([ \t]*#[ \t]*include(?:_next)?\b[ \t]*)("[^"\n]+"|<[^>\n]+>|[^\n]*)([^\n]*)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class IncludeLine:
    """One `#include` in the file `by`. `target` is what it names, as written: `"a.h"`, `<a.h>`, or a macro.

    `file` is None if none of the folders has it (it belongs to the device or the system) or a macro names it; `text` is also
    None if the file may not be read.
    """

    by: Path
    target: str
    file: Path | None = None
    text: str | None = None

    @property
    def is_macro(self) -> bool:
        return self.target[:1] not in {'"', "<"}


def includes(
    source: Path, text: str, folders: Sequence[Path], may_read: Callable[[Path], bool] = lambda _file: True
) -> Iterator[IncludeLine]:
    """Every `#include` of the text and of the files that it includes, directly or not; each file is read once.

    Search order as in compilers: next to the including file for quoted names, then next to the source and in the folders.
    """
    waiting, seen = [(source, text)], {source.resolve()}
    while waiting:
        by, known = waiting.pop()
        for _, target, _ in _INCLUDE.findall(known):
            places = (*((by.parent,) if target.startswith('"') else ()), source.parent, *folders)
            include = _found(IncludeLine(by, target), places, may_read)
            yield include
            if include.file is not None and include.text is not None and include.file.resolve() not in seen:
                seen.add(include.file.resolve())
                waiting.append((include.file, include.text))


def included_files(
    source: Path, text: str, folders: Sequence[Path], may_read: Callable[[Path], bool] = lambda _file: True
) -> Iterator[tuple[Path, str]]:
    """Files that the text includes, directly or not, with their contents; each once, as far as they may be read."""
    seen = {source.resolve()}
    for include in includes(source, text, folders, may_read):
        if include.file is not None and include.text is not None and include.file.resolve() not in seen:
            seen.add(include.file.resolve())
            yield include.file, include.text


def has_own_headers(text: str) -> bool:
    """Whether the text itself includes a quoted name, found or not."""
    return any(target.startswith('"') for _, target, _ in _INCLUDE.findall(text))


def folders_reached(source: Path, known: Sequence[Path]) -> tuple[Path, ...]:
    """Folders outside the known ones with files that the source includes."""
    if not is_file(source):
        return ()
    found: dict[Path, None] = {}
    for file, _ in included_files(source, source.read_text(encoding="utf-8", errors="replace"), known):
        home = file.resolve().parent
        if not any(home.is_relative_to(folder.resolve()) for folder in (*known, *found)):
            found[home] = None
    return tuple(found)


def with_targets(text: str, targets: Mapping[str, str]) -> str:
    """The text with the targets of its `#include` lines replaced, by current target."""
    return _INCLUDE.sub(lambda line: line[1] + targets.get(line[2], line[2]) + line[3], text)


def with_lines(text: str, replaced: Callable[[str, str], str]) -> str:
    """The text with each `#include` line replaced by a function of its target and the whole line."""
    return _INCLUDE.sub(lambda line: replaced(line[2], line[0]), text)


def _found(include: IncludeLine, places: Sequence[Path], may_read: Callable[[Path], bool]) -> IncludeLine:
    if include.is_macro:
        return include
    name = include.target[1:-1]
    spelled = next((place / name for place in places if is_file(place / name)), None)
    if spelled is None:
        return include
    # One name for each file, however it is reached; a link keeps its own, since compilers look next to the link, not its
    # target.
    file = spelled.parent.resolve() / spelled.name
    return IncludeLine(include.by, include.target, file, _read(file, file.stat().st_mtime_ns) if may_read(file) else None)


@lru_cache(maxsize=512)
def _read(file: Path, _stamp: int) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
