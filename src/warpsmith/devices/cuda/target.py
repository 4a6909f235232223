"""An NVIDIA compile target, named as in NVIDIA's tools (`sm_90`, `sm_90a`, `sm_120f`). Needs no GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.core.errors import InputError

_NAME = re.compile(r"(?:sm_|compute_)?(\d{1,2})(\d)([af]?)")


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """`variant`: "a" for features of this architecture only, "f" for those of its family, else empty."""

    major: int
    minor: int
    variant: str = ""

    @property
    def name(self) -> str:
        return f"sm_{self.number}{self.variant}"

    @property
    def number(self) -> int:
        """As in `sm_90`."""
        return 10 * self.major + self.minor

    @property
    def capability(self) -> tuple[int, int]:
        return self.major, self.minor

    def __str__(self) -> str:
        return self.name


def parse_target(text: str) -> CudaTarget:
    """`sm_90a`, or `90a`. Raises InputError."""
    match = _NAME.fullmatch(text.strip().lower())
    if match is None:
        raise InputError(f"{text!r} is not an NVIDIA target", hint="name one as sm_80, sm_90a, sm_100, sm_120")
    return CudaTarget(int(match[1]), int(match[2]), match[3])
