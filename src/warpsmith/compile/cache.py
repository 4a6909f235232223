"""Disk cache of compiled results: one file each, written atomically, with a checksum. Damaged or foreign files count as
missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from warpsmith.compile.jobs import CompileReply
from warpsmith.devices.base import Binary

DEFAULT_LIMIT_BYTES = 2 << 30

_MAGIC = b"warpsmith compiled 1\n"
_DIGEST_BYTES = 16
_HEADER = struct.Struct("<Q")
_REPLY: TypeAdapter[CompileReply] = TypeAdapter(CompileReply)


class DiskCache:
    """Safe for several processes at once. Failed reads and writes only skip the cache: a full disk must not end a run."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes

    def get(self, key: str) -> CompileReply | None:
        path = self._path(key)
        try:
            data = path.read_bytes()
            reply = _decode(data)
            os.utime(path)  # the least recently used go first
        except (OSError, ValueError, struct.error):
            return None
        return reply

    def put(self, key: str, reply: CompileReply) -> None:
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
                try:
                    file.write(_encode(reply))
                    file.flush()
                    Path(file.name).replace(path)
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise

    def prune(self) -> None:
        """Shrink to the limit, removing the least recently used first."""
        entries: list[tuple[float, int, Path]] = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*/*"):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        excess = sum(size for _, size, _ in entries) - self._limit_bytes
        for _, size, path in sorted(entries):
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            excess -= size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key


def _encode(reply: CompileReply) -> bytes:
    code = reply.code if isinstance(reply, Binary) else b""
    header = _REPLY.dump_json(replace(reply, code=b"") if isinstance(reply, Binary) else reply)
    body = _HEADER.pack(len(header)) + header + code
    return _MAGIC + _digest(body) + body


def _decode(data: bytes) -> CompileReply:
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _digest(body):
        raise ValueError("not an intact entry")
    (size,) = _HEADER.unpack_from(body)
    reply = _REPLY.validate_json(body[_HEADER.size : _HEADER.size + size])
    return replace(reply, code=body[_HEADER.size + size :]) if isinstance(reply, Binary) else reply


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
