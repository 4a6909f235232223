"""Decodes answers of a worker: a kernel may have corrupted its worker, so every field is validated."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from warpsmith.core.errors import InputError, Location
from warpsmith.isolation.jobs import RELAYED, Job, RelayedError, split_header

Reply = TypeVar("Reply")


def decode_reply(job: Job[Reply], header: bytes) -> Reply:
    """The reply; raises the error that the worker relayed, or ValueError for anything else."""
    name, body = split_header(header)
    if name == "reply":
        return cast("Reply", _validate(job.reply, body))
    if name != "error":
        raise ValueError(f"neither a reply nor an error: {name[:40]!r}")
    relayed: RelayedError = _validate(RelayedError, body)
    at = Location(relayed.file, relayed.line, relayed.column) if relayed.file else None
    raise RELAYED.get(relayed.kind, InputError)(relayed.message, location=at, hint=relayed.hint)


def _validate(kind: Any, body: bytes) -> Any:
    return _adapter(kind).validate_json(body, strict=True)


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
