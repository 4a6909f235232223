"""Cache keys of compiled results: the device's key, versions, the compiling code, and the local files included."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path

from warpsmith import devices
from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices.base import CompileRequest, Device, DeviceInfo
from warpsmith.isolation.folders import lies_in
from warpsmith.spec.includes import includes

CACHE_VERSION = 1

_DEVICES = Path(devices.__file__).parent
_ALLOWED = _DEVICES.parent / "refactor" / "allowed"  # by its place: who only asks for a key does not wait for clang's view


def environment_key(device: Device, info: DeviceInfo) -> str:
    """The part that all requests share.

    It includes the device's own files and those that devices share, so that an edit (of a prelude, of a binary reader)
    invalidates earlier results.
    """
    folder = Path(inspect.getfile(type(device))).parent
    files = [*folder.rglob("*"), *(path for shared in (*_DEVICES.glob("_*"), _ALLOWED) for path in (shared, *shared.rglob("*")))]
    read = {os.path.relpath(path, _DEVICES): path.read_bytes() for path in files if _matters(path)}
    parts = [part for name in sorted(read) for part in (name, read[name])]
    return fingerprint(CACHE_VERSION, metadata.version("warpsmith"), info.name, info.description, dict(info.versions), *parts)


def request_key(environment: str, device_key: str, included: Mapping[str, str]) -> str:
    return fingerprint(environment, device_key, dict(included))


def included_files(request: CompileRequest) -> dict[str, str] | None:
    """Content hashes of the local files that the source may include, ignoring `#if`s; None if that cannot be determined.

    Files not found next to the source or in `include_dirs` belong to the device or the system, and versions cover them. A file
    outside these folders (`../../secret`) is not read: a model may have written the text.
    """
    folders = (request.source_file.parent, *request.include_dirs)
    found: dict[str, str] = {}
    for include in includes(request.source_file, request.source, request.include_dirs, partial(lies_in, folders=folders)):
        if include.is_macro or (include.file is not None and include.text is None):
            return None
        if include.file is not None:
            found[str(include.file)] = _digest(include.file, include.file.stat().st_mtime_ns)
    return found


@lru_cache(maxsize=512)
def _digest(file: Path, _stamp: int) -> str:
    return fingerprint(file.read_bytes())


def _matters(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts
