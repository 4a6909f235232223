"""Lessons of a run about its kernel on its device: winning forms and passes with their gains, and why others lost.

Figures are those of the search, with their 95 % intervals; what the run claims in the end stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpsmith.record.result import Interval


@dataclass(frozen=True, slots=True)
class FormLesson:
    """A form that an agent wrote. `lost` says why it is not the winner; `source` is kept of a winner alone.

    `settings` are its launch and the best values of its parameters, in its own words.
    """

    hypothesis: str
    speedup: float | None = None
    ci95: Interval | None = None
    lost: str | None = None
    source: str | None = None
    settings: str = ""


@dataclass(frozen=True, slots=True)
class PassLesson:
    """`gain` is the best speed over the best with the pass's parameters at their defaults: 1 where it brought nothing."""

    name: str
    gain: float
    ci95: Interval | None = None

    @property
    def won(self) -> bool:
        """For certain."""
        return self.gain > 1 and self.ci95 is not None and self.ci95[0] > 1


@dataclass(frozen=True, slots=True)
class Lesson:
    """`features` say what kind of kernel it is; `device` is the kind (cpu, cuda), `about` which one."""

    run: str
    kernel: str
    device: str
    about: str
    features: frozenset[str]
    forms: tuple[FormLesson, ...] = ()
    passes: tuple[PassLesson, ...] = ()
    speedup: float | None = None  # as claimed
    ci95: Interval | None = None


def forms_of(content: Mapping[str, Any]) -> tuple[FormLesson, ...]:
    return tuple(FormLesson(**{**entry, "ci95": interval(entry["ci95"])}) for entry in content["forms"])


def passes_of(content: Mapping[str, Any]) -> tuple[PassLesson, ...]:
    return tuple(PassLesson(entry["name"], float(entry["gain"]), interval(entry["ci95"])) for entry in content["passes"])


def interval(pair: Any) -> Interval | None:
    return None if pair is None else (float(pair[0]), float(pair[1]))
