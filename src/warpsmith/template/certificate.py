"""The identity certificate: how it was shown that a template at its defaults is the original (by `tuning.templates.certify`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["tokens", "ir", "machine code", "outputs"]

_CONTEXT = 6


@dataclass(frozen=True, slots=True)
class Certificate:
    """`level` is the strongest proof that held: the same tokens, binary ("ir") or machine code, or bitwise equal outputs."""

    level: Level
    detail: str


def first_difference(original: Sequence[str], template: Sequence[str]) -> str | None:
    """The first difference of two token lists, as text; None if they are equal."""
    for index, (left, right) in enumerate(zip_longest(original, template)):
        if left != right:
            before = " ".join(original[max(0, index - _CONTEXT) : index])
            where = f"after `{before}`" if before else "at the beginning"
            return f"token {index + 1}, {where}: the original has {_shown(left)}, the template {_shown(right)}"
    return None


def _shown(token: str | None) -> str:
    return "no more tokens" if token is None else f"`{token}`"
