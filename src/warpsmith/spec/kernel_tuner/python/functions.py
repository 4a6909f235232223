"""Functions that scripts call on numbers, lists and file names: what they give, without calling anything."""

from __future__ import annotations

import ast
import math
import os.path
from collections.abc import Callable
from dataclasses import replace

from warpsmith.spec.kernel_tuner.python import arithmetic
from warpsmith.spec.kernel_tuner.python.arrays import DTYPES, GivenArguments, dtype_of, typed
from warpsmith.spec.kernel_tuner.python.drawn import made
from warpsmith.spec.kernel_tuner.python.values import (
    NONE,
    ArrayFill,
    Dotted,
    FilePath,
    Listed,
    ScriptArray,
    ScriptNumber,
    ScriptTable,
    ScriptValue,
    Unknown,
    numbers,
    whole,
)

MAX_ITEMS = 20_000  # of a list; no parameter has more values
_ARRAY_MODULES = frozenset({"numpy", "cupy", "torch"})
_PATHS: dict[str, Callable[[str], str]] = {
    "os.path.dirname": os.path.dirname,
    "os.path.basename": os.path.basename,
    "os.path.abspath": os.path.normpath,
    "os.path.realpath": os.path.normpath,
    "os.path.normpath": os.path.normpath,
    "os.path.expanduser": str,
}


def items_of(value: ScriptValue) -> list[ScriptValue] | None:
    """What iterating gives."""
    match value:
        case Listed(items=items):
            return items
        case ScriptTable(entries=entries):
            return list(entries)
        case str() if len(value) <= MAX_ITEMS:
            return list(value)
        case _:
            return None


def called(path: str, given: GivenArguments) -> ScriptValue:  # noqa: C901, PLR0911 - one return for each kind of function
    """What a function of a module gives."""
    module, _, name = path.rpartition(".")
    first = given.positional[0] if given.positional else None
    if path in _PATHS and isinstance(first, str | FilePath):
        return _PATHS[path](file_name(first))
    if path == "os.path.join":
        parts = [file_name(p) for p in given.positional if isinstance(p, str | FilePath)]
        return os.path.join(*parts) if parts and len(parts) == len(given.positional) else Unknown(given.line)  # noqa: PTH118
    if name in {"Path", "PurePath"} and isinstance(first, str | FilePath):
        return FilePath(os.path.join(*[file_name(p) for p in given.positional if isinstance(p, str | FilePath)]))  # noqa: PTH118
    if path == "builtins.open" and isinstance(first, str | FilePath):
        return FilePath(file_name(first), is_open=True)
    if name in {"dict", "OrderedDict"}:
        return _table(given)
    root = module.partition(".")[0]
    if root in _ARRAY_MODULES and name in DTYPES:
        return typed(DTYPES[name], given)
    if root in _ARRAY_MODULES and (array := made(path, given)) is not None:
        return array
    if name in {"default_rng", "RandomState", "Generator"}:
        return Dotted("numpy.random.generator")
    if root in _ARRAY_MODULES and name == "dtype" and (dtype := dtype_of(first)) is not None:
        return Dotted(f"numpy.{dtype.numpy.name}")
    known = _FUNCTIONS.get(name) if root in {"builtins", "math", "functools", *_ARRAY_MODULES} else None
    result = known(given) if known is not None else None
    if known is not None:
        return Unknown(given.line) if result is None else result
    if root in _ARRAY_MODULES and isinstance(first, ScriptArray):
        return replace(first, fill=ArrayFill(), line=given.line)  # sin, sqrt, …: an array like it, with values of its own
    return Unknown(given.line)


def file_name(value: str | FilePath) -> str:
    return value if isinstance(value, str) else value.text


def _table(given: GivenArguments) -> ScriptTable:
    table = ScriptTable({})
    update(table, given)
    return table


def update(table: ScriptTable, given: GivenArguments) -> None:
    for value in given.positional:
        pairs = value.entries.items() if isinstance(value, ScriptTable) else _pairs(value)
        if pairs is None:
            table.missing.append(given.line)
            continue
        table.entries.update(pairs)
        table.lines.update(dict.fromkeys((key for key, _ in pairs), given.line))
        if isinstance(value, ScriptTable):
            table.take(value)
    for key, entry in given.named.items():
        table.entries[key] = entry
        table.lines[key] = given.line


def _pairs(value: ScriptValue) -> list[tuple[str, ScriptValue]] | None:
    found = []
    for item in value.items if isinstance(value, Listed) else [value]:
        match item:
            case Listed(items=[str() as key, entry]):
                found.append((key, entry))
            case _:
                return None
    return found


def _range(given: GivenArguments) -> ScriptValue | None:
    ends = numbers(Listed(list(given.positional)))
    if not ends or len(ends) > 3 or not all(end.is_whole for end in ends):
        return None
    values = [int(end.value) for end in ends]
    if len(values) == 3 and values[2] == 0:
        return None
    found = range(*values)
    # A range of thousands is a loop over elements, which nothing here depends on.
    return Listed([whole(value) for value in found]) if not found[MAX_ITEMS:] else None


def _items(given: GivenArguments) -> list[ScriptValue] | None:
    return items_of(given.positional[0]) if len(given.positional) == 1 else list(given.positional) or None


def _list(given: GivenArguments) -> ScriptValue | None:
    found = items_of(given.positional[0]) if given.positional else []
    return Listed(list(found)) if found is not None else None


def _sorted(given: GivenArguments) -> ScriptValue | None:
    found = numbers(given.positional[0]) if given.positional and "key" not in given.named else None
    if found is None:
        return None
    order = given.named.get("reverse")
    is_down = isinstance(order, ScriptNumber) and bool(order.value)
    found.sort(key=lambda number: number.value, reverse=is_down)
    return Listed([*found])


def _length(given: GivenArguments) -> ScriptValue | None:
    match given.positional:
        case [ScriptArray(shape=shape)] if shape:
            return shape[0]
        case [value] if (items := items_of(value)) is not None:
            return whole(len(items))
        case _:
            return None


def _extreme(which: str) -> Callable[[GivenArguments], ScriptValue | None]:
    def found(given: GivenArguments) -> ScriptValue | None:
        items = numbers(Listed(list(_items(given) or []))) if not given.named else None
        return arithmetic.extreme_of(which, items) if items else None

    return found


def _product(given: GivenArguments) -> ScriptValue | None:
    items = numbers(Listed(list(_items(given) or [])))
    return arithmetic.product_of(items) if items is not None else None


def _sum(given: GivenArguments) -> ScriptValue | None:
    items = numbers(Listed(list(_items(given) or [])))
    total: ScriptNumber | None = whole(0)
    for item in items or ():
        total = arithmetic.combined(ast.Add(), total, item) if total is not None else None
    return total if items is not None else None


def _rounded(*, is_up: bool) -> Callable[[GivenArguments], ScriptValue | None]:
    def found(given: GivenArguments) -> ScriptValue | None:
        match given.positional:
            case [ScriptNumber() as number, *_]:
                return arithmetic.as_whole(number, is_up=is_up)
            case [str() as text] if text.strip().lstrip("-").isdecimal() and len(text) < 100:
                return whole(int(text))
            case _:
                return None

    return found


def _floating(compute: Callable[[float], float]) -> Callable[[GivenArguments], ScriptValue | None]:
    def found(given: GivenArguments) -> ScriptValue | None:
        match given.positional:
            case [ScriptNumber(value=value)]:
                try:
                    return ScriptNumber(compute(float(value)))
                except (ValueError, OverflowError):
                    return None
            case [ScriptArray() as array]:
                return replace(array, fill=ArrayFill(), line=given.line)
            case _:
                return None

    return found


def _said(given: GivenArguments) -> ScriptValue | None:
    match given.positional:
        case [ScriptNumber(value=value)] if not isinstance(value, int) or value.bit_length() <= 1024:
            return str(value)
        case [str() | FilePath() as text]:
            return file_name(text)
        case _:
            return None


def _zipped(given: GivenArguments) -> ScriptValue | None:
    lists = [items_of(value) for value in given.positional]
    known = [items for items in lists if items is not None]
    if len(known) < len(lists):
        return None
    return Listed([Listed(list(row)) for row in zip(*known, strict=False)])


def _enumerated(given: GivenArguments) -> ScriptValue | None:
    items = items_of(given.positional[0]) if given.positional else None
    return Listed([Listed([whole(i), item]) for i, item in enumerate(items)]) if items is not None else None


def _absolute(given: GivenArguments) -> ScriptValue | None:
    match given.positional:
        case [ScriptNumber() as number]:
            return number if number.value >= 0 else arithmetic.negated(number)
        case _:
            return None


def _power(given: GivenArguments) -> ScriptValue | None:
    match given.positional:
        case [ScriptNumber() as base, ScriptNumber() as exponent]:
            return arithmetic.combined(ast.Pow(), base, exponent)
        case _:
            return None


_FUNCTIONS: dict[str, Callable[[GivenArguments], ScriptValue | None]] = {
    "range": _range, "list": _list, "tuple": _list, "set": _list, "sorted": _sorted, "len": _length, "min": _extreme("min"),
    "max": _extreme("max"), "amax": _extreme("max"), "amin": _extreme("min"), "prod": _product, "product": _product, "sum": _sum,
    "int": _rounded(is_up=False), "floor": _rounded(is_up=False), "ceil": _rounded(is_up=True), "float": _floating(float),
    "sqrt": _floating(math.sqrt), "log2": _floating(math.log2), "log": _floating(math.log), "exp": _floating(math.exp),
    "str": _said, "zip": _zipped, "enumerate": _enumerated, "abs": _absolute, "pow": _power, "power": _power,
    "print": lambda _: NONE,
}  # fmt: skip
