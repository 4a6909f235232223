"""Files that a kernel's folders open to a worker: the folders, without private files kept next to code.

The worker's owner computes this, because the worker must not choose. The same rule decides which included files the tuner
itself may read, since a model may have written the text that names them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_SOURCE_SUFFIXES = frozenset(
    {
        ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".cl", ".clh", ".def",
        ".h", ".hh", ".hip", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tpp",
    }
)  # fmt: skip


def readable_entries(folders: Iterable[Path], home: Path | None = None) -> frozenset[Path]:
    """The files and folders to open for these; missing ones have none. `home` defaults to the user's.

    Hidden entries (`.env`, `.git`, `.ssh`) are left out. In a folder that holds more than code (the home folder, one above it,
    the one for temporary files) only the source files directly in it are opened.
    """
    wide = wide_folders(home or home_folder())
    return frozenset(entry for folder in folders for entry in _entries(folder.resolve(), wide))


def lies_in(file: Path, folders: Iterable[Path]) -> bool:
    """Whether the file is in one of the folders or below, after following links; hidden files are not."""
    found = file.resolve()
    inside = (found.relative_to(folder).parts for folder in map(Path.resolve, folders) if found.is_relative_to(folder))
    return any(not any(part.startswith(".") for part in parts) for parts in inside)


def is_source_beside(file: Path, place: Path) -> bool:
    """Whether it is named as source code, and in no hidden folder relative to the folder, after following links."""
    found, home = file.resolve(), place.resolve()
    shared = Path(os.path.commonpath([found, home]))
    return found.suffix in _SOURCE_SUFFIXES and not any(part.startswith(".") for part in found.relative_to(shared).parts)


def home_folder() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # containers run as numbers that no list of users has
        return Path("/")


@cache
def wide_folders(home: Path) -> frozenset[Path]:
    """Folders that hold more than code."""
    places = {home.resolve(), Path(tempfile.gettempdir()).resolve(), Path("/")}
    return frozenset(places | {above for place in places for above in place.parents})


def _entries(folder: Path, wide: frozenset[Path]) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    try:
        listed = list(os.scandir(folder))
    except OSError:
        return
    visible = [entry for entry in listed if not entry.name.startswith(".")]
    if folder in wide:
        yield from (Path(entry) for entry in visible if Path(entry).suffix in _SOURCE_SUFFIXES and entry.is_file())
    elif len(visible) < len(listed):
        yield from map(Path, visible)
    else:
        yield folder
        yield from (Path(entry) for entry in visible if entry.is_symlink())  # the user's own links may lead elsewhere
