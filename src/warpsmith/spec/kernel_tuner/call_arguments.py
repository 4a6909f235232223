"""The arguments of a `tune_kernel` call, in order; its constants; which of them it knows the result of."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warpsmith.spec.kernel_tuner.calls import ReadCall
from warpsmith.spec.kernel_tuner.problem import Passed
from warpsmith.spec.kernel_tuner.python.values import (
    Listed,
    Nothing,
    ScriptArray,
    ScriptNumber,
    ScriptTable,
    ScriptValue,
    Unknown,
)


@dataclass(frozen=True)
class ArgumentReading:
    _call: ReadCall

    def constants(self) -> dict[str, Passed]:
        table = self._call.given("cmem_args")
        return {n: self._passed(v, None) for n, v in table.entries.items()} if isinstance(table, ScriptTable) else {}

    def passed(self) -> tuple[Passed, ...] | None:
        value, node = self._call.found.values.get("arguments"), self._call.found.nodes.get("arguments")
        if not isinstance(value, Listed):
            self._call.notes.append(
                f"FILL IN: the arguments at {self._call.place(self._call.line('arguments'))} could not be followed"
            )
            return None
        parts = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        names = [part.id if isinstance(part, ast.Name) else None for part in parts] if len(parts) == len(value.items) else []
        names = names or [None] * len(value.items)
        return tuple(self._passed(item, name) for item, name in zip(value.items, names, strict=True))

    def _passed(self, value: ScriptValue, name: str | None) -> Passed:
        match value:
            case ScriptArray(dtype=dtype, shape=shape, fill=fill, line=line):
                return Passed(self._call.place(line), name, dtype, shape, fill=fill)
            case ScriptNumber():
                return Passed(self._call.place(self._call.line("arguments")), name, value.dtype, value=value)
            case Unknown(line=line):
                return Passed(self._call.place(line), name)
            case Nothing():
                return Passed(self._call.place(self._call.line("arguments")), name, is_null=True)
            case _:
                return Passed(self._call.place(self._call.line("arguments")), name)

    def compared(self) -> tuple[bool, ...] | None:
        value = self._call.given("answer")
        return tuple(not isinstance(item, Nothing) for item in value.items) if isinstance(value, Listed) else None
