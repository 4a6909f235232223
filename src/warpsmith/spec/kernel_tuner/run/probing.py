"""A condition that no expression says, asked for every configuration: which values of which parameters it admits."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from warpsmith.core import configuration
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.problem import ScriptTunable

_MOST_ASKED = 50_000
_LONGEST = 2000


def probed(condition: Callable[..., Any], parameters: Sequence[ScriptTunable]) -> str | None:
    """None where there are too many to ask, where it fails, or where the answer is too long to read."""
    named = _named_by(condition, [p.name for p in parameters])
    used = [p for p in parameters if named is None or p.name in named]
    if not used or math.prod(len(p.values) for p in used) > _MOST_ASKED:
        return None
    names = [p.name for p in used]
    answers: dict[tuple[configuration.Value, ...], bool] = {}
    try:
        for row in product(*(p.values for p in used)):
            chosen = dict(zip(names, row, strict=True))
            answers[row] = bool(condition(**chosen) if named is not None else condition(chosen))
    except Exception:  # noqa: BLE001 - whatever the script's own code raises
        return None
    for place in reversed(range(len(names))):
        shorter = _without(answers, place)
        if shorter is not None and len(names) > 1:
            answers = shorter
            del names[place]
    text = _written(names, [row for row, holds in answers.items() if holds])
    return ConditionReader(names).text(text) if text and len(text) <= _LONGEST else None


def _named_by(condition: Callable[..., Any], parameters: Sequence[str]) -> set[str] | None:
    """The parameters by whose names it is called; None where it takes a dictionary of them."""
    try:
        names = set(inspect.signature(condition).parameters)
    except (TypeError, ValueError):
        return None
    return names if names and names <= set(parameters) else None


def _without(
    answers: dict[tuple[configuration.Value, ...], bool], place: int
) -> dict[tuple[configuration.Value, ...], bool] | None:
    """The answers without that parameter, where they do not depend on it."""
    found: dict[tuple[configuration.Value, ...], bool] = {}
    for row, holds in answers.items():
        if found.setdefault((*row[:place], *row[place + 1 :]), holds) != holds:
            return None
    return found


def _written(names: Sequence[str], admitted: Sequence[tuple[configuration.Value, ...]]) -> str:
    groups: dict[tuple[configuration.Value, ...], list[configuration.Value]] = {}
    for row in admitted:
        groups.setdefault(row[:-1], []).append(row[-1])
    cases = []
    for first, lasts in groups.items():
        parts = [f"{name} == {value!r}" for name, value in zip(names, first, strict=False)]
        listed = ", ".join(map(repr, lasts))
        parts.append(f"{names[-1]} in ({listed},)" if len(lasts) > 1 else f"{names[-1]} == {lasts[0]!r}")
        cases.append(" and ".join(parts))
    return " or ".join(f"({case})" for case in cases) if len(cases) > 1 else "".join(cases)
