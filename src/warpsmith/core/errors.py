"""The errors users see, in one tree.

    WarpsmithError
    ├── BaselineError          exit code 1: the original kernel itself fails or disagrees with the oracle
    ├── InputError             exit code 2: what the user gave is wrong (file, line, column, value, hint)
    │   └── UnsupportedFeature     the source uses something this device does not offer
    └── UnavailableError       exit code 3: a device or a dependency is missing, a disk is full, a folder cannot be written
        └── AbsentError            the device is not on this machine at all

    KeyboardInterrupt
    └── Stopped                exit code 128 + signal: Ctrl-C, or a signal that ends programs

Expected failures of a *candidate* are not errors but outcomes (`core.outcome`).
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; lines and columns count from 1."""

    file: Path
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [str(self.file), *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class WarpsmithError(Exception):
    """A failure with an explanation; `str()` is what a person reads."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, location: Location | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.location}: {self.message}" if self.location else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints under `error`, and what a failed run's record keeps."""
        place = self.location
        return {
            "message": self.message,
            "hint": self.hint,
            "file": str(place.file) if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "exit_code": self.exit_code,
        }


class BaselineError(WarpsmithError):
    exit_code = 1


class InputError(WarpsmithError):
    exit_code = 2


class UnsupportedFeature(InputError):  # noqa: N818 - reads as the fact it states
    """The source uses a feature that the device does not offer; the message names it."""


class UnavailableError(WarpsmithError):
    exit_code = 3


class AbsentError(UnavailableError):
    """The device does not exist on this machine, as opposed to a device that does not work."""


class Stopped(KeyboardInterrupt):
    """Stop requested by a signal; handled like Ctrl-C. `run` is the current run, which can be resumed."""

    def __init__(self, number: int = signal.SIGINT, run: str | None = None) -> None:
        super().__init__()
        self.number = number
        self.run = run

    @classmethod
    def by(cls, cause: BaseException, run: str | None = None) -> Stopped:
        """From any interruption: Ctrl-C, another signal, a closed output pipe."""
        number = cause.number if isinstance(cause, Stopped) else signal.SIGINT
        return cls(signal.SIGPIPE if isinstance(cause, BrokenPipeError) else number, run)

    @property
    def exit_code(self) -> int:
        """By the shells' convention."""
        return 128 + self.number
