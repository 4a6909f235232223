"""The space of a `tune_kernel` call: its parameters and its restrictions."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warpsmith.spec.kernel_tuner.calls import Call, plain, shown
from warpsmith.spec.kernel_tuner.conditions import Reader
from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, Condition, Tunable
from warpsmith.spec.kernel_tuner.python.values import Function, Listed, Number, Table, Unknown, Value


@dataclass(frozen=True)
class SpaceReading:
    _call: Call

    def tunables(self) -> list[Tunable]:
        table = self._call.found.values.get("tune_params")
        if not isinstance(table, Table):
            self._call.not_followed("tune_params")
            return []
        self._call.notes += [f"FILL IN: a parameter of {self._call.place(line)} could not be followed" for line in table.missing]
        return [self._tunable(name, value, table) for name, value in table.entries.items()]

    def _tunable(self, name: str, value: Value, table: Table) -> Tunable:
        line = table.lines.get(name, self._call.found.line)
        items = value.items if isinstance(value, Listed) else [value] if isinstance(value, Number | str) else []
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
        return Tunable(name, tuple(dict.fromkeys(values)), note="; ".join(notes))

    def conditions(self, reader: Reader) -> list[Condition]:
        value = self._call.given("restrictions")
        if value is None:
            return []
        line, node = self._call.line("restrictions"), self._call.found.nodes.get("restrictions")
        items = value.items if isinstance(value, Listed) else [value]
        return [self._condition(item, line, node, reader) for item in items]

    def _condition(self, value: Value, line: int, node: ast.expr | None, reader: Reader) -> Condition:
        match value:
            case str() as text:
                return Condition(reader.text(text), " ".join(text.split()), self._call.place(line))
            case Function(node=function):
                return Condition(reader.function(function), shown(function), self._call.place(function.lineno))
            case _:
                written = shown(node) if node is not None else "restrictions"
                return Condition(None, written, self._call.place(value.line if isinstance(value, Unknown) else line))
