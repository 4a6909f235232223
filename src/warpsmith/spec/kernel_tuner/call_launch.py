"""The launch of a `tune_kernel` call: the problem's size, what divides it, the block, dynamic shared memory."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpsmith.spec.kernel_tuner.calls import ReadCall
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.problem import BLOCK_SIZES, Extent, ScriptTunable, size_of
from warpsmith.spec.kernel_tuner.python.values import Listed, ScriptFunction, ScriptNumber, ScriptTable, ScriptValue


@dataclass(frozen=True)
class LaunchReading:
    _call: ReadCall
    _reader: ConditionReader
    _parameters: Sequence[ScriptTunable]

    def size(self) -> tuple[Extent, ...] | None:
        value = self._call.found.values.get("problem_size")
        items = value.items if isinstance(value, Listed) else [value] if value is not None else []
        if isinstance(value, ScriptFunction):
            items = self._returned(value)
        return size_of(self._extent(item) for item in items[:3])

    def _returned(self, function: ScriptFunction) -> list[ScriptValue]:
        """Of a function that gives the size for a configuration, the expressions of its tuple."""
        body = function.node.body if isinstance(function.node, ast.Lambda) else None
        parts = body.elts if isinstance(body, ast.Tuple | ast.List) else [body] if body is not None else []
        return [ScriptFunction(ast.Lambda(function.node.args, part), function.scope, {}) for part in parts]

    def _extent(self, value: ScriptValue | None) -> Extent | None:
        match value:
            case ScriptNumber() if value.is_whole and value.value > 0:
                return replace(value, dtype=None)
            case ScriptNumber(value=float(number)) if number.is_integer() and number > 0:
                return ScriptNumber(int(number), int(number))
            case str() as text:
                return self._reader.number_text(text)
            case ScriptFunction(node=node):
                return self._reader.function(node, is_number=True)
            case _:
                return None

    def divisors(self, name: str) -> tuple[str, ...] | None:
        """None where Kernel Tuner takes the block's own extent."""
        value = self._call.given(name)
        if value is None:
            return None
        found = []
        for item in value.items if isinstance(value, Listed) else [value]:
            text = self._divisor(item)
            if isinstance(item, ScriptFunction) and any(isinstance(node, ast.Div) for node in ast.walk(item.node)):
                self._call.notes.append(f"{name}: Kernel Tuner keeps the fraction of this function, kernel.toml its whole part")
            if text is None:
                self._call.not_followed(name)
            else:
                found.append(text)
        return tuple(found)

    def _divisor(self, value: ScriptValue) -> str | None:
        match value:
            case str() as text:
                return self._reader.number_text(text)
            case ScriptNumber() if value.is_whole:
                return str(value.value)
            case ScriptFunction(node=node):
                return self._reader.function(node, is_number=True)
            case _:
                return None

    def block(self) -> tuple[str, ...]:
        return block_of(self._parameters, self._block_names())

    def _block_names(self) -> list[str]:
        value = self._call.given("block_size_names")
        names = [n for n in value.items if isinstance(n, str)] if isinstance(value, Listed) else []
        if value is not None and not names:
            self._call.not_followed("block_size_names")
        return names

    def shared(self) -> Extent | None:
        value = self._call.given("smem_args")
        size = value.entries.get("size") if isinstance(value, ScriptTable) else None
        found = self._extent(size)
        if value is not None and found is None:
            self._call.not_followed("smem_args")
        return found


def block_of(parameters: Sequence[ScriptTunable], names: Sequence[str]) -> tuple[str, ...]:
    """The block's extents: parameters of these names (by default Kernel Tuner's, in any case), its own default for others."""
    known = [parameter.name for parameter in parameters]
    own = [
        next((n for n in known if n == usual), None) or next((n for n in known if n.lower() == usual), usual)
        for usual in BLOCK_SIZES
    ]
    wanted = [*names, *own[len(names) :]][:3]
    found = [name if name in known else str(default) for name, default in zip(wanted, BLOCK_SIZES.values(), strict=True)]
    while len(found) > 1 and found[-1] == "1":
        found.pop()
    return tuple(found)
