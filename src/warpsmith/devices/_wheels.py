"""Finds files that installed wheels brought, by the wheels' own lists: right whether or not the environment is activated."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path


def wheel_file(distribution: str, file_name: str) -> Path | None:
    try:
        files = metadata.distribution(distribution).files or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == file_name:
            path = Path(str(file.locate())).resolve()
            return path if path.is_file() else None
    return None
