"""clang as `flatten` asks it: in a confined worker, for the code may be anybody's, which reads the code base and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from warpsmith.core.errors import InputError
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.process import WorkerDied, WorkerProcess, WorkerTimedOut

_WORKER = "warpsmith.source.extract.worker"
_DEADLINE_S = 60.0  # a large code base takes two seconds; one that includes itself without end, for ever
_MEMORY_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """What clang said; what it wrote travels beside."""

    log: str


@dataclass(frozen=True, slots=True)
class Rewrite(Job[Preprocessed]):
    text: str
    flags: list[str]
    reply: ClassVar[Any] = Preprocessed


class Preprocessor(Protocol):
    def __call__(self, text: str, flags: Sequence[str]) -> tuple[str, str]:
        """Its output and its log. Raises InputError when it comes to no end."""
        ...


@contextmanager
def confined(readable: Iterable[Path]) -> Iterator[Preprocessor]:
    """A preprocessor that can read these files and folders, hidden entries apart."""
    with WorkerProcess(_WORKER, memory_bytes=_MEMORY_BYTES, folders=readable, may_start_processes=True) as worker:

        def preprocess(text: str, flags: Sequence[str]) -> tuple[str, str]:
            try:
                reply, [output] = worker.call(Rewrite(text, list(flags)), deadline_s=_DEADLINE_S)
            except WorkerTimedOut as error:
                raise InputError(f"preprocessing it took longer than {error.limit_s:g} s", hint=_HINT) from None
            except WorkerDied as error:
                raise InputError(f"preprocessing it failed: {error.reason}", hint=_HINT) from None
            return output.decode(errors="replace"), reply.log

        yield preprocess


_HINT = "does a header include itself, or a macro expand without end?"
