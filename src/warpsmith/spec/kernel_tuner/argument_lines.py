"""`[arguments]` and `[constants]`: the script's dtypes, shapes and values, compared with the kernel's declaration."""

from __future__ import annotations

import re

import numpy as np

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.plain_text import on_one_line
from warpsmith.spec.cpp_types import may_be_memory, may_be_value
from warpsmith.spec.kernel import Role
from warpsmith.spec.kernel_tuner.problem import Passed, ScriptNumber
from warpsmith.spec.kernel_tuner.sizes import Sizes
from warpsmith.spec.kernel_tuner.toml_text import LARGEST_FLOAT, quoted_unless_number
from warpsmith.spec.skeleton_arguments import GuessedArgument
from warpsmith.spec.toml_writing import toml_value

_FLOAT_FILLS = frozenset({"normal", "uniform"})
_FILLS = frozenset({"normal", "uniform", "randint", "zeros", "ones", "arange", "permutation"})


class ArgumentLines:
    """`guess` is the shape of arrays that could not be followed; `known` are the names allowed in a scalar's expression."""

    def __init__(self, sizes: Sizes, guess: list[str], known: frozenset[str], *, is_compared: bool) -> None:
        self._sizes = sizes
        self._guess = guess
        self._known = known
        self._is_compared = is_compared

    def line(self, argument: GuessedArgument, passed: Passed | None, width: int, *, compared: bool) -> str:
        notes: list[str] = []
        if argument.is_pointer:
            entries = self._pointer(argument, passed, compared, notes)
        else:
            entries = self._scalar(argument, passed, notes)
        return _joined(f"{argument.name:<{width}}", entries, notes)

    def constant(self, name: str, passed: Passed) -> str:
        notes = [passed.place] if passed.place else []
        dtype = passed.dtype or DType.F32
        shape = self._shape(passed)
        if passed.dtype is None or shape is None:
            notes.append("FILL IN: dtype and shape could not be followed")
        entries = {"dtype": f'"{dtype.value}"', "shape": f"[{', '.join(shape or ['1'])}]", **_init(passed, dtype, notes)}
        return _joined(name, entries, notes)

    # ── pointers ──

    def _pointer(self, argument: GuessedArgument, passed: Passed | None, compared: bool, notes: list[str]) -> dict[str, str]:
        dtype = self._memory(argument, passed, notes)
        if passed is not None and passed.is_null:
            notes += [passed.place] if passed.place else []
            return {"dtype": f'"{dtype.value}"', "null": "true"}
        shape = self._shape(passed) if passed is not None else None
        if passed is None or shape is None:
            where = f"; {passed.place}" if passed is not None and passed.place else ""
            notes.append(f"FILL IN: the shape and init could not be followed{where}")
        elif passed.place:
            notes.insert(0, passed.place)
        role = self._role(argument, passed, compared, notes)
        entries = {"dtype": f'"{dtype.value}"', "shape": f"[{', '.join(shape or self._guess)}]", "role": f'"{role.value}"'}
        if role is not Role.OUT and passed is not None and shape is not None:
            entries |= _init(passed, dtype, notes)
        return entries

    def _memory(self, argument: GuessedArgument, passed: Passed | None, notes: list[str]) -> DType:
        declared = argument.type
        given = passed.dtype if passed is not None else None
        if given is None:
            if declared is None:
                notes.append("FILL IN: the dtype")
            return declared.dtype if declared is not None else DType.F32
        if declared is None or may_be_memory(declared, given, as_bits=False):
            return given
        notes.append(f"FILL IN: the array is {given.value}, but the kernel has `{argument.text}`")
        return declared.dtype

    def _shape(self, passed: Passed) -> list[str] | None:
        if passed.shape is None or any(extent.value < 1 for extent in passed.shape):
            return None
        return [quoted_unless_number(self._sizes.text(extent)) for extent in passed.shape] or ["1"]

    def _role(self, argument: GuessedArgument, passed: Passed | None, compared: bool, notes: list[str]) -> Role:
        own = argument.role
        if passed is not None and passed.role is not None and not (passed.role is not Role.IN and argument.is_const):
            return passed.role
        if compared and own is Role.IN and not argument.is_const:
            notes.append("the script compares it, so it is written")
            return Role.INOUT
        if self._is_compared and not compared and own is not Role.IN:
            notes.append("written, though the script does not compare it")
        if own is Role.INOUT and not argument.use.is_certain:
            notes.append('FILL IN: "out" if every element is only written, "in" if none is')
        return own

    # ── values ──

    def _scalar(self, argument: GuessedArgument, passed: Passed | None, notes: list[str]) -> dict[str, str]:
        declared = argument.type
        given = passed.dtype if passed is not None else None
        if declared is not None and declared.lanes > 1:
            notes.append("by value")
            return {"dtype": f'"{declared.dtype.value}"', "shape": f"[{declared.lanes}]", "role": '"in"'}
        dtype = given or (declared.dtype if declared is not None else DType.I32)
        if declared is not None and not may_be_value(declared, dtype):
            notes.append(f"the script passes {dtype.value}, the kernel has `{argument.text}`")
            dtype = declared.dtype
        value = self._value(passed, dtype)
        if value is None:
            where = f"; {passed.place}" if passed is not None and passed.place else ""
            notes.append(f"FILL IN: its value could not be followed{where}")
            value = "false" if dtype is DType.BOOL else "1.0" if dtype.is_float else self._guess[0]
        return {"dtype": f'"{dtype.value}"', "value": value}

    def _value(self, passed: Passed | None, dtype: DType) -> str | None:
        value = passed.value if passed is not None else None
        if isinstance(value, str):
            return f'"{value}"' if self._is_expression(value) else None
        if not isinstance(value, ScriptNumber):
            return None
        if dtype is DType.BOOL:
            return "true" if value.value else "false"
        if dtype.is_float:
            return toml_value(float(value.value)) if abs(value.value) < LARGEST_FLOAT else None
        if isinstance(value.value, float):
            return str(int(value.value)) if value.value.is_integer() else None
        text = self._sizes.text(value)
        range_ = np.iinfo(dtype.numpy)
        return quoted_unless_number(text) if range_.min <= value.value <= range_.max else None

    def _is_expression(self, text: str) -> bool:
        try:
            return Expression.parse(text).names <= self._known
        except InputError:
            return False


def _init(passed: Passed, dtype: DType, notes: list[str]) -> dict[str, str]:
    """The array's kernel.toml `init`; an array that nobody filled begins with zeros."""
    kind = "zeros" if passed.fill.kind == "empty" else passed.fill.kind
    if kind is not None and re.fullmatch(r"[\w.-]+\.py:\w+", kind):
        return {"init": f'{{ python = "{kind}" }}'}
    if kind not in _FILLS or (kind in _FLOAT_FILLS and not dtype.is_float):
        notes.append("FILL IN: init, which kernel.toml has no word for")
        return {}
    found = {"init": f'"{kind}"'}
    if kind == "randint" or (kind == "uniform" and (passed.fill.low, passed.fill.high) not in {(0, 1), (None, None)}):
        bounds = {"low": passed.fill.low, "high": passed.fill.high}
        found |= {name: toml_value(bound) for name, bound in bounds.items() if bound is not None}
    return found


def _joined(name: str, entries: dict[str, str], notes: list[str]) -> str:
    table = ", ".join(f"{key} = {value}" for key, value in entries.items())
    note = f"   # {on_one_line('; '.join(notes))}" if notes else ""
    return f"{name} = {{ {table} }}{note}"
