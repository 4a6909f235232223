"""The space of a `tune_kernel` call: its parameters and its restrictions."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warpsmith.spec.kernel_tuner.calls import ReadCall, plain, shown
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, Restriction, ScriptTunable
from warpsmith.spec.kernel_tuner.python.values import Listed, ScriptFunction, ScriptNumber, ScriptTable, ScriptValue, Unknown


@dataclass(frozen=True)
class SpaceReading:
    _call: ReadCall

    def tunables(self) -> list[ScriptTunable]:
        table = self._call.found.values.get("tune_params")
        if not isinstance(table, ScriptTable):
            self._call.not_followed("tune_params")
            return []
        self._call.notes += [f"FILL IN: a parameter of {self._call.place(line)} could not be followed" for line in table.missing]
        return [self._tunable(name, value, table) for name, value in table.entries.items()]

    def _tunable(self, name: str, value: ScriptValue, table: ScriptTable) -> ScriptTunable:
        line = table.lines.get(name, self._call.found.line)
        items = value.items if isinstance(value, Listed) else [value] if isinstance(value, ScriptNumber | str) else []
        values = [value for value in map(plain, items) if value is not None]
        notes = [self._call.place(line)]
        if not values:
            values = [BLOCK_SIZES.get(name, 1)]
            notes.append("FILL IN: its values could not be followed")
        elif len(values) < len(items):
            notes.append("FILL IN: not all of its values could be followed")
        if name in table.unsure:
            notes.append(f"FILL IN: depends on the condition of line {table.unsure[name]}")
        if "loop_unroll_factor" in name and 0 in values:
            notes.append("at 0 Kernel Tuner takes the pragma out, here the compiler sees 0")
        return ScriptTunable(name, tuple(dict.fromkeys(values)), note="; ".join(notes))

    def conditions(self, reader: ConditionReader) -> list[Restriction]:
        value = self._call.given("restrictions")
        if value is None:
            return []
        line, node = self._call.line("restrictions"), self._call.found.nodes.get("restrictions")
        items = value.items if isinstance(value, Listed) else [value]
        return [self._condition(item, line, node, reader) for item in items]

    def _condition(self, value: ScriptValue, line: int, node: ast.expr | None, reader: ConditionReader) -> Restriction:
        match value:
            case str() as text:
                return Restriction(reader.text(text), " ".join(text.split()), self._call.place(line))
            case ScriptFunction(node=function):
                return Restriction(reader.function(function), shown(function), self._call.place(function.lineno))
            case _:
                written = shown(node) if node is not None else "restrictions"
                return Restriction(None, written, self._call.place(value.line if isinstance(value, Unknown) else line))
