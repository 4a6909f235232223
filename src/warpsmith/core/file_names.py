"""Conversion of user-chosen names to file names, and of paths to text."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from warpsmith.core.errors import InputError

_MOST_BYTES = 100  # systems allow 255, with whatever is put behind it


def as_file_name(text: str, otherwise: str) -> str:
    """One path component, without spaces, that is never hidden, never leads elsewhere and leaves room for a suffix."""
    short = re.sub(r"[^\w.-]+", "-", text).strip(".-").encode()[:_MOST_BYTES].decode(errors="ignore")
    return short.strip(".-") or otherwise


def as_argument(path: Path | str) -> str:
    """Shell-quoted: users copy the commands that we suggest."""
    return shlex.quote(str(path))


def is_file(path: Path) -> bool:
    """Whether it is there: a name that is too long for the system is not (pathlib raises OSError)."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """As `is_file`."""
    return os.path.isdir(path)  # noqa: PTH112


def require_recordable(path: Path) -> None:
    """Raises InputError for a path that is not text, which no record can hold: systems allow any bytes in names."""
    absolute = path.absolute()
    try:
        str(absolute).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(absolute).decode(errors="backslashreplace")
        raise InputError(
            f"the path {shown} is not valid text in this locale and cannot be recorded",
            hint="rename the parts that are not UTF-8; in the C locale, set PYTHONUTF8=1",
        ) from None
