"""Finds files of installed wheels by the wheels' own lists: correct whether or not the environment is activated."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path


def wheel_file(distribution: str, file_name: str) -> Path | None:
    try:
        wheel = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return None
    # As text: the compiler's wheel lists 19,000 files, and creating paths of them is slow.
    record = wheel.read_text("RECORD")
    files = (line.partition(",")[0] for line in record.splitlines()) if record is not None else map(str, wheel.files or ())
    for file in files:
        if file.rpartition("/")[2] == file_name:
            path = Path(str(wheel.locate_file(file))).resolve()
            return path if path.is_file() else None
    return None
