"""Contents of frame headers: typed jobs, typed replies, and errors for users.

A job is a frozen dataclass that names its reply's type. Jobs travel as pickles, because a worker can trust the tuner; a worker
answers in JSON, which the tuner validates (`replies`). So workers, which a run starts often, do not need pydantic.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from warpsmith.core.errors import AbsentError, InputError, Location, UnavailableError, UnsupportedFeature, WarpsmithError

Reply = TypeVar("Reply")

_KINDS = (UnsupportedFeature, InputError, AbsentError, UnavailableError)  # a kind before what it is a kind of
RELAYED: dict[str, type[WarpsmithError]] = {kind.__name__: kind for kind in _KINDS}


class Job(Generic[Reply]):
    """Base of every job. `reply` is the type given in brackets, for validation at run time."""

    __slots__ = ()
    reply: ClassVar[Any]


@dataclass(frozen=True, slots=True)
class Ready(Job[None]):
    """Answered as soon as the worker serves: keeps start-up time out of the first real job's deadline."""

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
    """Name and fields: in the worker its own module is called `__main__`."""
    values = tuple(getattr(job, field.name) for field in dataclasses.fields(job))  # type: ignore[arg-type]
    return _header(type(job).__name__, pickle.dumps(values, pickle.HIGHEST_PROTOCOL))


def decode_job(header: bytes, known: Mapping[str, type[Job[Any]]]) -> Job[Any]:
    name, body = split_header(header)
    return known[name](*pickle.loads(body))  # noqa: S301 - from the tuner


def encode_reply(reply: Any) -> bytes:
    return _header("reply", _written(reply))


def encode_error(error: WarpsmithError) -> bytes:
    kind = next((name for name, relayed in RELAYED.items() if isinstance(error, relayed)), InputError.__name__)
    at = error.location or Location(Path())
    file = at.file if error.location else None
    return _header("error", _written(RelayedError(kind, error.message, file, at.line, at.column, error.hint)))


def split_header(header: bytes) -> tuple[str, bytes]:
    name, _, body = header.partition(b"\n")
    return name.decode("ascii"), body


def _header(name: str, body: bytes) -> bytes:
    return b"%s\n%s" % (name.encode("ascii"), body)


def _written(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_in_json).encode()


def _in_json(value: Any) -> Any:
    """Values that JSON lacks, as pydantic reads them."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    match value:
        case Path():
            return str(value)
        case bytes():
            return value.decode()
        case Mapping():
            return dict(value)
        case frozenset() | set():
            return sorted(value)
        case _:
            raise TypeError(f"a worker cannot answer with a {type(value).__name__}")
