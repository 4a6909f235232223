"""Python's operators on all kinds of values: lists that are joined, texts that are formatted, folders that are stepped into."""

from __future__ import annotations

import ast
import os.path

from warpsmith.spec.kernel_tuner.python import arithmetic
from warpsmith.spec.kernel_tuner.python.functions import MAX_ITEMS
from warpsmith.spec.kernel_tuner.python.values import (
    FilePath,
    Listed,
    ScriptArray,
    ScriptNumber,
    ScriptTable,
    ScriptValue,
    Unknown,
)

_MAX_TEXT = 10**6


def binary(left: ScriptValue, sign: ast.operator, right: ScriptValue, line: int) -> ScriptValue:  # noqa: PLR0911 - one for each kind
    match left, right:
        case ScriptNumber(), ScriptNumber():
            return arithmetic.combined(sign, left, right) or Unknown(line)
        case ScriptArray() as array, ScriptArray() | ScriptNumber() as other:
            return arithmetic.array_combined(sign, array, other, line)
        case ScriptNumber() as number, ScriptArray() as array:
            return arithmetic.array_combined(sign, number, array, line)
        case str(), str() if isinstance(sign, ast.Add) and len(left) + len(right) <= _MAX_TEXT:
            return left + right
        case str(), _ if isinstance(sign, ast.Mod):
            return _formatted(left, right) or Unknown(line)
        case Listed(items=first), Listed(items=second) if isinstance(sign, ast.Add) and len(first) + len(second) <= MAX_ITEMS:
            return Listed([*first, *second])
        case Listed(items=items), ScriptNumber(value=int(count)) if isinstance(sign, ast.Mult):
            return Listed(items * count) if 0 <= count * len(items) <= MAX_ITEMS else Unknown(line)
        case ScriptTable(), ScriptTable() if isinstance(sign, ast.BitOr):
            both = left.copied()
            both.take(right)
            return both
        case FilePath(text=text), str() | FilePath() if isinstance(sign, ast.Div):
            return FilePath(os.path.join(text, right if isinstance(right, str) else right.text))  # noqa: PTH118
        case _:
            return Unknown(line)


def contains(owner: ScriptValue, item: ScriptValue) -> bool | None:
    if isinstance(owner, ScriptTable) and isinstance(item, str):
        return item in owner.entries if not owner.missing else None
    if isinstance(owner, str) and isinstance(item, str):
        return item in owner
    if not isinstance(owner, Listed) or not isinstance(item, ScriptNumber | str):
        return None
    known = [entry for entry in owner.items if isinstance(entry, ScriptNumber | str)]
    found = any(arithmetic.compared(ast.Eq(), item, entry) for entry in known)
    return found if found or len(known) == len(owner.items) else None


def _formatted(pattern: str, value: ScriptValue) -> str | None:
    """`"text %s %d" % values`."""
    values = value.items if isinstance(value, Listed) else [value]
    plain = [v.value if isinstance(v, ScriptNumber) else v for v in values if isinstance(v, ScriptNumber | str)]
    if len(plain) < len(values) or pattern.count("%") != len(plain) or pattern.count("%s") + pattern.count("%d") != len(plain):
        return None
    try:
        return pattern % tuple(plain)
    except (TypeError, ValueError):
        return None
