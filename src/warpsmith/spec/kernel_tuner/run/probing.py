"""Evaluates a condition that no expression describes for every configuration: the parameter values that it admits."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from warpsmith.core import configuration
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.problem import ScriptTunable

_MOST_ASKED = 50_000
_LONGEST = 2000


def probed(condition: Callable[..., Any], parameters: Sequence[ScriptTunable]) -> str | None:
    """None if there are too many configurations, a call fails, or the answer is too long to read."""
    named = _named_by(condition, [p.name for p in parameters])
    asked = set(named or ())
    while True:  # until all that it looks at is varied
        before = set(asked)
        used = [p for p in parameters if p.name in asked]
        if math.prod(len(p.values) for p in used) > _MOST_ASKED:
            return None
        try:
            admitted = _admitted(condition, used, parameters, asked, by_name=named is not None)
        except Exception:  # noqa: BLE001 - whatever the script's own code raises
            return None
        if asked == before:
            break
    text = _written([p.name for p in used], admitted) if used else ""
    return ConditionReader([p.name for p in used]).text(text) if text and len(text) <= _LONGEST else None


def _admitted(
    condition: Callable[..., Any],
    used: Sequence[ScriptTunable],
    every: Sequence[ScriptTunable],
    asked: set[str],
    *,
    by_name: bool,
) -> list[tuple[configuration.Value, ...]]:
    """Values of the used parameters, with the others at their first value."""
    found = []
    for row in product(*(p.values for p in used)):
        chosen = {p.name: value for p, value in zip(used, row, strict=True)}
        others = {p.name: p.values[0] for p in every}
        if condition(**chosen) if by_name else condition(_Watched({**others, **chosen}, asked)):
            found.append(row)
    return found


class _Watched(dict[str, Any]):
    """A configuration that records which of its parameters are read."""

    def __init__(self, values: Mapping[str, Any], seen: set[str]) -> None:
        super().__init__(values)
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._seen.update({name} & self.keys())
        return super().get(name, default)

    def values(self) -> Any:
        self._seen.update(self)
        return super().values()

    def items(self) -> Any:
        self._seen.update(self)
        return super().items()


def _named_by(condition: Callable[..., Any], parameters: Sequence[str]) -> set[str] | None:
    """The parameters whose names are its arguments; None if it takes a dictionary."""
    try:
        names = set(inspect.signature(condition).parameters)
    except (TypeError, ValueError):
        return None
    return names if names and names <= set(parameters) else None


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
