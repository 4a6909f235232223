"""From a path to recordings: finds files, names them, decompresses them, and detects their format."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError, Location
from warpsmith.record.foreign.kernel_tuner import read_cache, reopened, without_repetitions
from warpsmith.record.foreign.recording import Recording
from warpsmith.record.foreign.t4 import read_t4

_GZIP = b"\x1f\x8b"
_SUFFIXES = (".gz", ".json")
_HINT = "a Kernel Tuner cache or a T4 result file is expected, as .json or .json.gz"


def load_recording(path: Path | str, name: str | None = None) -> Recording:
    """Read one file. Raises InputError, with the file and what was found in it, for anything that is not a recording."""
    file = Path(path)
    document, notes = _document(file)
    if "cache" in document:
        return read_cache(name or _stem(file), file, document, notes)
    if "results" in document:
        return read_t4(name or _stem(file), file, document, notes)
    keys = ", ".join(list(document)[:6]) or "nothing"
    raise InputError(f'expected "cache" or "results", found {keys}', location=Location(file), hint=_HINT)


def load_recordings(paths: Iterable[Path | str]) -> list[Recording]:
    """Read files, and all that are in folders, each once. Names are distinct: `gemm/A100` and `conv/A100` where need be."""
    files = list(dict.fromkeys(file for path in paths for file in _files(Path(path))))
    return [load_recording(file, name) for file, name in zip(files, _names(files), strict=True)]


def _names(files: Sequence[Path]) -> list[str]:
    """Each file's name without its suffix, behind as many of its folders as it takes to tell it from the others."""
    parts = [(*file.resolve().parent.parts, _stem(file)) for file in files]
    names = []
    for file, own in zip(files, parts, strict=True):
        alone = (n for n in range(1, len(own) + 1) if sum(other[-n:] == own[-n:] for other in parts) == 1)
        depth = next(alone, None)
        names.append(file.name if depth is None else "/".join(own[-depth:]))  # only the suffixes differ
    return names


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.iterdir() if p.name.endswith((".json", ".json.gz")))
    if not found:
        raise InputError("no .json or .json.gz in this folder", location=Location(path), hint=_HINT)
    return found


def _stem(file: Path) -> str:
    name = file.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name or file.name


def _document(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        return _parsed(_text(file), file)
    except RecursionError as error:
        raise InputError("lists or objects are nested too deeply", location=Location(file), hint=_HINT) from error
    except ValueError as error:  # Python refuses to read thousands of digits
        raise InputError("contains a number with thousands of digits", location=Location(file), hint=_HINT) from error


def _parsed(text: str, file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        document = json.loads(text, object_hook=without_repetitions)
    except json.JSONDecodeError as error:
        again = reopened(text)
        if again is not None:
            return again[0], (again[1],)
        raise InputError(f"not JSON: {error.msg}", location=Location(file, error.lineno, error.colno), hint=_HINT) from error
    if not isinstance(document, dict):
        raise InputError(f"holds a {type(document).__name__}, not an object", location=Location(file), hint=_HINT)
    return document, ()


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", location=Location(file), hint=_HINT) from error
    try:
        # By its first bytes, not its name; and a compressed file that was cut off gives what is there.
        unpacked = zlib.decompressobj(wbits=31).decompress(data) if data.startswith(_GZIP) else data
        return unpacked.decode("utf-8-sig", errors="ignore" if data.startswith(_GZIP) else "strict")
    except (zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"neither text nor gzip: {error}", location=Location(file), hint=_HINT) from error
