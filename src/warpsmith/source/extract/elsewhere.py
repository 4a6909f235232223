"""What of a kernel stands elsewhere in its code base: its definition, for hints, and the file that a header is a piece of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from warpsmith.isolation.folders import home_folder, is_source_beside, wide_folders

_HEADERS = frozenset({".cuh", ".h", ".hpp", ".inc", ".inl"})
_SOURCES = frozenset({".cu", ".hip", ".cpp"})
_LEVELS = 4  # folders up from the source: include/name/part/x.cuh and its package
_FILES = 10_000  # about a second


def definition_of(name: str, source: Path) -> str | None:
    """`file:line` of the kernel's body, near the source; None if it is not found there."""
    pattern = re.compile(rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\([^;{{]*\{{".encode())
    for file in islice(_files(source.resolve()), _FILES):
        text = file.read_bytes()
        if name.encode() in text and (match := pattern.search(text)):
            line = text.count(b"\n", 0, text.index(name.encode(), match.start())) + 1
            return f"{file}:{line}"
    return None


def whole_of(source: Path) -> Path | None:
    """The nearest source that includes this header, if the header includes nothing itself: it lives off what stands before it."""
    if (
        source.suffix not in _HEADERS
        or not source.is_file()
        or re.search(rb"^[ \t]*#[ \t]*include\b", source.read_bytes(), re.MULTILINE)
    ):
        return None
    pattern = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*"((?:[^"\n]*/)?{re.escape(source.name)})"'.encode(), re.MULTILINE)
    for file in islice(_files(source), _FILES):
        if file.suffix in _SOURCES and any(
            (file.parent / name.decode()).resolve() == source for name in pattern.findall(file.read_bytes())
        ):
            return file
    return None


def _files(source: Path) -> Iterator[Path]:
    """Sources below the folders above it, the nearest first."""
    wide = wide_folders(home_folder())
    below: Path | None = None
    for above in source.parents[:_LEVELS]:
        if above in wide:
            return
        for file in sorted(above.rglob("*")):
            is_new = below is None or not file.is_relative_to(below)
            if is_new and file != source and file.is_file() and is_source_beside(file, source.parent):
                yield file
        below = above
