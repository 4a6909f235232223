"""What a compiled result depends on: the device's key, versions, the code that compiles, and the local files it includes."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from warpsmith import devices
from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices.base import CompileRequest, Device, DeviceInfo
from warpsmith.isolation.folders import lies_in

CACHE_VERSION = 1

_DEVICES = Path(devices.__file__).parent

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$", re.MULTILINE)
_TARGET = re.compile(r'(["<])([^">\n]+)[">]')


def environment_key(device: Device, info: DeviceInfo) -> str:
    """The part that all requests share.

    The device's own files are in it, and those that devices share, so that an edit (of a prelude, of what reads a binary) voids
    earlier results.
    """
    folder = Path(inspect.getfile(type(device))).parent
    files = [*folder.rglob("*"), *(path for shared in _DEVICES.glob("_*") for path in (shared, *shared.rglob("*")))]
    read = {os.path.relpath(path, _DEVICES): path.read_bytes() for path in files if _matters(path)}
    parts = [part for name in sorted(read) for part in (name, read[name])]
    return fingerprint(CACHE_VERSION, metadata.version("warpsmith"), info.name, info.description, dict(info.versions), *parts)


def request_key(environment: str, device_key: str, included: Mapping[str, str]) -> str:
    return fingerprint(environment, device_key, dict(included))


def included_files(request: CompileRequest) -> dict[str, str] | None:
    """Content hashes of the local files that the source may include, whatever its `#if`s say; None if that cannot be told.

    Files that are not found next to the source or in `include_dirs` are the device's or the system's: versions cover them. A file
    outside these folders that the text names all the same (`../../secret`) is not read: the text may be a model's.
    """
    folders = (request.source_file.parent, *request.include_dirs)
    found: dict[str, str] = {}
    pending: list[tuple[str, Path]] = [(request.source, request.source_file.parent)]
    while pending:
        text, beside = pending.pop()
        for line in _INCLUDE.findall(text):
            target = _TARGET.match(line)
            if target is None:  # #include MACRO
                return None
            candidates = ((beside,) if target[1] == '"' else ()) + folders
            path = _first_file(folder / target[2] for folder in candidates)
            if path is not None and not lies_in(path, folders):
                return None
            if path is not None and str(path) not in found:
                digest, content = _read(path, path.stat().st_mtime_ns)
                found[str(path)] = digest
                pending.append((content, path.parent))
    return found


def _first_file(paths: Iterable[Path]) -> Path | None:
    return next((path.resolve() for path in paths if path.is_file()), None)


@lru_cache(maxsize=512)
def _read(path: Path, _stamp: int) -> tuple[str, str]:
    data = path.read_bytes()
    return fingerprint(data), data.decode(errors="replace")


def _matters(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts
