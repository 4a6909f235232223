"""Where the code base defines a kernel that the source at hand does not have: for hints, so looked for after a mistake only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from warpsmith.isolation.folders import home_folder, is_source_beside, wide_folders

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
