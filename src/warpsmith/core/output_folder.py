"""Checks an output folder before the work whose results go there."""

from __future__ import annotations

import os
from pathlib import Path

from warpsmith.core.errors import InputError, Location, UnavailableError


def require_output_folder(folder: Path) -> None:
    """The folder need not be there yet. Raises InputError for a file in its place, UnavailableError where nobody may write."""
    absolute = folder.absolute()
    nearest = next(place for place in (absolute, *absolute.parents) if place.exists())
    if not nearest.is_dir():
        raise InputError("this is a file, expected a folder", location=Location(nearest), hint="choose another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UnavailableError("this folder is not writable", location=Location(nearest), hint="choose another folder")
