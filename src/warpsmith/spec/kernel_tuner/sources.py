"""Finds the source that a script or a T1 file names, and its language."""

from __future__ import annotations

import os.path
import re
from pathlib import Path

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.core.errors import InputError, Location
from warpsmith.core.file_names import is_file
from warpsmith.core.hardware import Language
from warpsmith.spec.comments import without_noise
from warpsmith.spec.problems import nearest

_LANGUAGES = {
    "cuda": Language.CUDA,
    "cupy": Language.CUDA,
    "nvcuda": Language.CUDA,
    "hip": Language.HIP,
    "opencl": Language.OPENCL,
}
_MAX_NAME = 250


def looks_like_a_file(text: str) -> bool:
    """Distinguishes a file's name from code as Kernel Tuner does."""
    is_code = any(character in text for character in "();{}\n") or len(text) > _MAX_NAME
    return not is_code and ("." in Path(text).name)


def found_source(file: Path, name: str, line: int | None = None) -> Path:
    """Looked up in the folder of the naming file, the one above, or the current one. Raises InputError if not found."""
    places = [file.parent / name, file.parent.parent / name, Path(name)]
    for place in places:
        try:
            if is_file(place):
                return place
        except (OSError, ValueError):
            break
    siblings = [p.name for p in file.parent.iterdir() if p.is_file() and p.suffix not in {".py", ".json"}]
    hint = nearest(Path(name).name, siblings) or "paths are relative to the file that names them"
    raise InputError(f"the kernel's source {name!r} does not exist", location=Location(file, line), hint=hint)


def without_body(text: str, name: str) -> str:
    """The text up to the kernel's body, for sources where macros hide braces in it: the declaration can still be parsed."""
    plain = without_noise(text)
    for mark in re.finditer(rf"\b(?:__global__|__kernel|kernel)\b[^;{{}}]*?\b{re.escape(name)}\s*\(", plain):
        opening = mark.end() - 1
        taken = until_closed(plain[opening:], ROUND)
        if taken is not None and re.match(r"\s*\{", plain[opening + taken :]):
            return f"{text[: opening + taken]} {{}}\n"
    return text


def relative(source: Path, folder: Path) -> str:
    """The path as kernel.toml has it."""
    return Path(os.path.relpath(source, folder)).as_posix()


def language_named(name: str, location: Location) -> Language:
    """Raises InputError for languages other than a GPU's."""
    if name.lower() not in _LANGUAGES:
        known = ", ".join(sorted(_LANGUAGES))
        raise InputError(f"{name!r} is not a supported GPU language", location=location, hint=f"one of: {known}")
    return _LANGUAGES[name.lower()]
