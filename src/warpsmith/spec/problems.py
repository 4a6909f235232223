"""Collects every problem of a kernel.toml, so that one run reports them all."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError, Location

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Problems:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: list[InputError] = []

    def add(self, message: str, location: Location | None = None, hint: str | None = None) -> None:
        self.add_error(InputError(message, location=location or Location(self._file), hint=hint))

    def add_error(self, error: InputError) -> None:
        if str(error) not in {str(known) for known in self._found}:
            self._found.append(error)

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_if_any(self) -> None:
        """Raises a single problem unchanged; several as one error that lists them in file order."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise self._found[0]
        ordered = sorted(self._found, key=_position)
        listed = "\n".join(str(error) for error in ordered)
        raise InputError(f"{len(ordered)} problems\n{listed}", location=Location(self._file))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint for an unknown name."""
    names = sorted(known)
    return did_you_mean(name, names) or (f"one of: {', '.join(names)}" if names else None)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """As `nearest`, if all names are listed anyway: None unless one is close."""
    names = sorted(str(name) for name in known)  # members of a StrEnum are shown as what is written
    near = [known for known in names if known.lower() == name.lower()] or difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _position(error: InputError) -> tuple[int, int]:
    place = error.location
    return (place.line or 0, place.column or 0) if place else (0, 0)
