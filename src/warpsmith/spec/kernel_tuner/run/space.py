"""The space and the launch of a `tune_kernel` call: parameters, restrictions, sizes, divisors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from warpsmith.spec.kernel_tuner.conditions import ConditionReader, Known, nothing_known
from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, Extent, Restriction, ScriptNumber, ScriptTunable
from warpsmith.spec.kernel_tuner.run.describing import number_of, value_of
from warpsmith.spec.kernel_tuner.run.probing import probed
from warpsmith.spec.kernel_tuner.run.site import CallSite, shown
from warpsmith.spec.kernel_tuner.run.tracing import Tracing
from warpsmith.spec.kernel_tuner.run.unknown import Unknown

Written: TypeAlias = tuple[ast.FunctionDef | ast.Lambda, Callable[[ast.expr], Known | None]]
"""A function's source, and the value of an expression in it."""


def tunables(table: Any, site: CallSite, line: int) -> tuple[ScriptTunable, ...]:
    if not isinstance(table, Mapping):
        site.not_followed("tune_params", line)
        return ()
    missing = [key.line or line for key in table if isinstance(key, Unknown)]
    site.notes += [f"FILL IN: a parameter of {site.place(at)} could not be followed" for at in missing]
    return tuple(_tunable(name, values, site) for name, values in table.items() if isinstance(name, str))


def _tunable(name: str, given: Any, site: CallSite) -> ScriptTunable:
    is_several = hasattr(given, "__iter__") and not isinstance(given, str | Unknown | Mapping)
    items = list(given) if is_several else [given]
    values = [value for value in map(value_of, items) if value is not None]
    notes = [site.place(site.key_line(name))]
    if not values:
        values = [BLOCK_SIZES.get(name, 1)]
        notes.append("FILL IN: its values could not be followed")
    elif len(values) < len(items):
        notes.append("FILL IN: not all of its values could be followed")
    if "loop_unroll_factor" in name and 0 in values:
        notes.append("at 0 Kernel Tuner takes the pragma out, here the compiler sees 0")
    return ScriptTunable(name, tuple(dict.fromkeys(values)), note="; ".join(notes))


@dataclass(frozen=True)
class SpaceRecorder:
    """`written` gives the source of a script's function; None for everything else."""

    parameters: Sequence[ScriptTunable]
    site: CallSite
    tracing: Tracing
    written: Callable[[Any], Written | None]

    def conditions(self, given: Any, line: int) -> tuple[Restriction, ...]:
        items = given if isinstance(given, list | tuple) else [given] if given is not None else []
        return tuple(self._condition(item, line) for item in items)

    def _condition(self, value: Any, line: int) -> Restriction:
        if isinstance(value, str):
            return Restriction(self._reader().text(value), " ".join(value.split()), self.site.place(line))
        known = self.written(value)
        node = known[0] if known is not None else self.site.nodes().get("restrictions", self.site.call)
        text = self._reader(known[1]).function(known[0]) if known is not None else None
        if text is None and callable(value) and not isinstance(value, Unknown):
            text = probed(value, self.parameters)
        at = node.lineno if known is not None else value.line or line if isinstance(value, Unknown) else line
        return Restriction(text, shown(node), self.site.place(at))

    def size(self, given: Any) -> tuple[Extent | None, ...]:
        known = self.written(given)
        if known is not None:
            reader = self._reader(known[1])
            return tuple(reader.function(part, is_number=True) for part in _axes(known[0])[:3])
        items = list(given) if isinstance(given, list | tuple) else [given]
        return tuple(self.extent(item) for item in items[:3])

    def extent(self, value: Any) -> Extent | None:
        if isinstance(value, str):
            return self._reader().number_text(value)
        known = self.written(value)
        if known is not None:
            return self._reader(known[1]).function(known[0], is_number=True)
        number = number_of(value, self.tracing)
        if number is None or isinstance(number.value, bool) or number.value <= 0:
            return None
        if isinstance(number.value, float):
            return ScriptNumber(int(number.value), int(number.value)) if number.value.is_integer() else None
        return ScriptNumber(number.value, number.term)

    def divisors(self, name: str, value: Any, line: int) -> tuple[str, ...] | None:
        """None where Kernel Tuner uses the block's own extent."""
        if value is None:
            return None
        found = []
        for item in value if isinstance(value, list | tuple) else [value]:
            known = self.written(item)
            if known is not None and any(isinstance(node, ast.Div) for node in ast.walk(known[0])):
                self.site.notes.append(f"{name}: Kernel Tuner keeps the fraction of this function, kernel.toml its whole part")
            extent = self.extent(item)
            if extent is None:
                self.site.not_followed(name, line)
            else:
                found.append(extent if isinstance(extent, str) else str(extent.value))
        return tuple(found)

    def _reader(self, resolve: Callable[[ast.expr], Known | None] = nothing_known) -> ConditionReader:
        return ConditionReader([parameter.name for parameter in self.parameters], resolve)


def _axes(function: ast.FunctionDef | ast.Lambda) -> list[ast.Lambda]:
    """For a function that gives the size for a configuration: functions for its axes."""
    body = function.body[-1] if isinstance(function, ast.FunctionDef) and len(function.body) == 1 else function.body
    value = body.value if isinstance(body, ast.Return) else body
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return [ast.Lambda(function.args, part) for part in parts if isinstance(part, ast.expr)]
