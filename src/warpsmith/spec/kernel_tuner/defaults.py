"""The default of every parameter: as named by the source or the file, else the first allowed configuration."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.spec.comments import with_blank_comments
from warpsmith.spec.kernel_tuner.problem import ScriptTunable

_GUARDED = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n\s*#[ \t]*define[ \t]+\1[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_MAX_STEPS = 100_000  # configurations, or parts of one, that are looked at
_MAX_ASKED = 5000  # combinations of values
_USUAL_THREADS = 1024  # in a block: the limit of every GPU


def defined_in(source: str) -> dict[str, str]:
    """Values of `#ifndef NAME / #define NAME value`, as written."""
    return dict(_GUARDED.findall(with_blank_comments(source)))


def with_own_values(parameters: Sequence[ScriptTunable], source: str) -> list[ScriptTunable]:
    """The source's own value is the default, and one of the values: the source is compiled with it unless told otherwise."""
    written = defined_in(source)
    return [_with_own(p, written[p.name]) if p.name in written else p for p in parameters]


def default_of(parameters: Sequence[ScriptTunable], conditions: Sequence[str], block: Sequence[str]) -> dict[str, Value] | None:
    """None if no configuration is found that meets the conditions.

    Named defaults have priority; then blocks within every GPU's thread limit.
    """
    rules = [Expression.parse(condition) for condition in conditions]
    threads = Expression.parse(f"{' * '.join(f'({extent})' for extent in block)} <= {_USUAL_THREADS}")
    named = {p.name: [p.values[0] if p.default is None else p.default] for p in parameters}
    ordered = {p.name: list(p.values) for p in parameters}
    firm = {p.name: named[p.name] if p.default is not None and p.default in p.values else ordered[p.name] for p in parameters}
    for values, extra in ((firm, [threads]), (firm, []), (ordered, [threads]), (ordered, [])):
        found = _Search(values, [*rules, *extra]).found()
        if found is not None:
            return found
    return None


def always_holds(condition: str, values: Mapping[str, Sequence[Value]]) -> bool:
    """Whether the condition excludes nothing, if there are few enough combinations to test."""
    rule = Expression.parse(condition)
    columns = [values.get(name, ()) for name in sorted(rule.names)]
    if math.prod(map(len, columns)) > _MAX_ASKED:
        return False
    return all(_holds(rule, dict(zip(sorted(rule.names), row, strict=True))) for row in product(*columns))


def _with_own(parameter: ScriptTunable, written: str) -> ScriptTunable:
    for value in parameter.values:
        if (str(int(value)) if isinstance(value, bool) else str(value)) == written.strip("()"):
            return replace(parameter, default=value)
    if not re.fullmatch(r"-?\d{1,9}", written):
        return parameter
    note = "; ".join(part for part in (parameter.note, f"{written} is the source's own") if part)
    return replace(parameter, values=(int(written), *parameter.values), default=int(written), note=note)


class _Search:
    """Depth-first in the parameters' order; a rule is tested as soon as all its names have values."""

    def __init__(self, values: Mapping[str, Sequence[Value]], rules: Sequence[Expression]) -> None:
        self._values = values
        self._names = list(values)
        self._rules: dict[str, list[Expression]] = {name: [] for name in self._names}
        self._steps = 0
        for rule in rules:
            last = max((self._names.index(name) for name in rule.names if name in values), default=-1)
            if last >= 0:
                self._rules[self._names[last]].append(rule)

    def found(self) -> dict[str, Value] | None:
        return self._from({})

    def _from(self, chosen: dict[str, Value]) -> dict[str, Value] | None:
        if len(chosen) == len(self._names):
            return chosen
        name = self._names[len(chosen)]
        for value in self._values[name]:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                return None
            wider = {**chosen, name: value}
            if all(_holds(rule, wider) for rule in self._rules[name]):
                found = self._from(wider)
                if found is not None:
                    return found
        return None


def _holds(rule: Expression, names: Mapping[str, Value]) -> bool:
    try:
        return bool(rule.evaluate(names))
    except InputError:
        return False
