"""What travels in a frame's header: typed jobs, typed replies, and errors made for people.

A job is a frozen dataclass that names the type of its reply. Both sides validate with pydantic, so nothing half-shaped gets in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from pydantic import TypeAdapter

from warpsmith.core.errors import AbsentError, InputError, Location, UnavailableError, UnsupportedFeature, WarpsmithError

Reply = TypeVar("Reply")

_KINDS = (UnsupportedFeature, InputError, AbsentError, UnavailableError)  # a kind before what it is a kind of
_RELAYED: dict[str, type[WarpsmithError]] = {kind.__name__: kind for kind in _KINDS}


class Job(Generic[Reply]):
    """Base of every job. `reply` is the very type named between the brackets, there for validation at run time."""

    __slots__ = ()
    reply: ClassVar[Any]


@dataclass(frozen=True, slots=True)
class Ready(Job[None]):
    """Answered as soon as the worker serves: it keeps start-up out of the first real job's deadline."""

    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class RelayedError:
    kind: str
    message: str
    file: Path | None
    line: int | None
    column: int | None
    hint: str | None


def encode_job(job: Job[Any]) -> bytes:
    return _pack(type(job).__name__, type(job), job)


def decode_job(header: bytes, known: Mapping[str, type[Job[Any]]]) -> Job[Any]:
    name, body = _unpack(header)
    return cast("Job[Any]", _validate(known[name], body))


def encode_reply(job: Job[Any], reply: Any) -> bytes:
    return _pack("reply", job.reply, reply)


def encode_error(error: WarpsmithError) -> bytes:
    kind = next((name for name, relayed in _RELAYED.items() if isinstance(error, relayed)), InputError.__name__)
    at = error.location or Location(Path())
    file = at.file if error.location else None
    return _pack("error", RelayedError, RelayedError(kind, error.message, file, at.line, at.column, error.hint))


def decode_reply(job: Job[Reply], header: bytes) -> Reply:
    """The reply; or raises the error that the worker relayed. ValueError for anything else."""
    name, body = _unpack(header)
    if name == "reply":
        return cast("Reply", _validate(job.reply, body))
    if name != "error":
        raise ValueError(f"neither a reply nor an error: {name[:40]!r}")
    relayed: RelayedError = _validate(RelayedError, body)
    at = Location(relayed.file, relayed.line, relayed.column) if relayed.file else None
    raise _RELAYED.get(relayed.kind, InputError)(relayed.message, location=at, hint=relayed.hint)


def _pack(name: str, kind: Any, value: Any) -> bytes:
    # Not `dump_json`: it writes infinities as null.
    body = json.dumps(_adapter(kind).dump_python(value, mode="json"), separators=(",", ":"))
    return f"{name}\n{body}".encode()


def _unpack(header: bytes) -> tuple[str, bytes]:
    name, _, body = header.partition(b"\n")
    return name.decode("ascii"), body


def _validate(kind: Any, body: bytes) -> Any:
    return _adapter(kind).validate_json(body, strict=True)


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
