"""The budget of a run. The search stops at the first limit it reaches."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.core.errors import InputError

_UNITS_S = {"bare": 1.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_NUMBER = r"(?:\d+\.?\d*|\.\d+)"
_DURATION = re.compile(
    rf"(?P<bare>{_NUMBER})|(?:(?P<h>{_NUMBER})\s*h)?\s*(?:(?P<m>{_NUMBER})\s*m)?\s*(?:(?P<s>{_NUMBER})\s*s)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Budget:
    evaluations: int | None = 100
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.evaluations is not None and self.evaluations < 1:
            raise InputError(
                f"the evaluation budget must be at least 1, not {self.evaluations}", hint="for example --evaluations 40"
            )
        if self.seconds is not None and self.seconds <= 0:
            raise InputError(
                f"the time budget must be positive, not {self.seconds} s", hint="write for example --time 90s, --time 5m"
            )

    def spent(self, evaluations: int, seconds: float) -> bool:
        return (self.evaluations is not None and evaluations >= self.evaluations) or (
            self.seconds is not None and seconds >= self.seconds
        )

    def seconds_left(self, evaluations: int, seconds: float) -> float | None:
        """An estimate from the pace so far; None at first."""
        estimates = []
        if self.seconds is not None:
            estimates.append(self.seconds - seconds)
        if self.evaluations is not None and evaluations:
            estimates.append((self.evaluations - evaluations) * seconds / evaluations)
        return max(0.0, min(estimates)) if estimates else None


def parse_duration(text: str) -> float:
    """Seconds from `90`, `90s`, `5m`, `1.5h` or `1h30m`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise InputError(f"{text!r} is not a duration", hint="write for example 90s, 5m or 1h30m")
    return sum(float(number) * _UNITS_S[unit] for unit, number in found.groupdict().items() if number)
