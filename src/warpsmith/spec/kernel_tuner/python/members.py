"""Attributes and methods of a script's values: what an array's `.shape` is, what `.astype` or `.append` makes of its owner."""

from __future__ import annotations

import os.path
from dataclasses import replace

from warpsmith.spec.kernel_tuner.python.arithmetic import product_of
from warpsmith.spec.kernel_tuner.python.arrays import GivenArguments, cast, dtype_of, reshaped, typed
from warpsmith.spec.kernel_tuner.python.functions import MAX_ITEMS, items_of, update
from warpsmith.spec.kernel_tuner.python.values import (
    NONE,
    Dotted,
    FilePath,
    Listed,
    ScriptArray,
    ScriptMethod,
    ScriptNumber,
    ScriptTable,
    ScriptValue,
    SourceText,
    Unknown,
    whole,
)

_MAX_TEXT = 10**7
_SAME_ARRAY = frozenset({"copy", "cuda", "contiguous", "squeeze", "get"})


def attribute(owner: ScriptValue, name: str, line: int) -> ScriptValue:  # noqa: PLR0911 - one return for each kind
    """`owner.name`; a method, which is not called yet, is `Bound`."""
    match owner:
        case Dotted(path=path):
            return Dotted(f"{path}.{name}")
        case ScriptArray(shape=shape) if name == "shape":
            return Listed(list(shape))
        case ScriptArray(shape=shape) if name == "size":
            return product_of(list(shape)) or Unknown(line)
        case ScriptArray(shape=shape) if name == "T":
            return replace(owner, shape=shape[::-1])
        case ScriptArray(dtype=dtype) if name == "dtype" and dtype is not None:
            return Dotted(f"numpy.{dtype.numpy.name}")
        case ScriptArray(dtype=dtype, shape=shape) if name in {"nbytes", "itemsize"} and dtype is not None:
            sizes = [*(shape if name == "nbytes" else ()), whole(dtype.itemsize)]
            return product_of(sizes) or Unknown(line)
        case FilePath(text=text) if name == "parent":
            return FilePath(os.path.dirname(text))  # noqa: PTH120
        case Unknown():
            return owner
        case _:
            return ScriptMethod(owner, name)


def method(bound: ScriptMethod, given: GivenArguments) -> ScriptValue:  # noqa: C901, PLR0911, PLR0912 - one return for each kind of method
    """What a method of a value gives; lists and dictionaries change by it."""
    owner, name = bound.owner, bound.name
    first = given.positional[0] if given.positional else None
    match owner:
        case ScriptArray() if name in {"astype", "to", "type"}:
            return cast(owner, dtype_of(given.of("dtype", 0)))
        case ScriptArray() if name in {"reshape", "view"}:
            return reshaped(owner, given)
        case ScriptArray() if name in {"flatten", "ravel"}:
            return reshaped(owner, GivenArguments([whole(-1)], {}, given.line))
        case ScriptArray() if name == "transpose" and not given.positional:
            return replace(owner, shape=owner.shape[::-1])
        case ScriptArray() if name in _SAME_ARRAY:
            return owner
        case ScriptArray() if name in {"sum", "max", "min", "mean", "dot"}:
            return Unknown(given.line)
        case ScriptNumber() if name == "astype" and (dtype := dtype_of(first)) is not None:
            return typed(dtype, GivenArguments([owner], {}, given.line))
        case Listed() if name == "append" and first is not None and len(owner.items) < MAX_ITEMS:
            owner.items.append(first)
            return NONE
        case Listed() if name == "extend" and first is not None:
            owner.items.extend((items_of(first) or [Unknown(given.line)])[:MAX_ITEMS])
            return NONE
        case Listed() if name in {"copy", "tolist"}:
            return owner.copied()
        case ScriptTable() if name == "update":
            update(owner, given)
            return NONE
        case ScriptTable() if name == "keys":
            return Listed(list(owner.entries))
        case ScriptTable() if name == "values":
            return Listed(list(owner.entries.values()))
        case ScriptTable() if name == "items":
            return Listed([Listed([key, value]) for key, value in owner.entries.items()])
        case ScriptTable() if name == "copy":
            return owner.copied()
        case ScriptTable() if name in {"get", "pop"} and isinstance(first, str):
            found = owner.entries.get(first, given.positional[1] if len(given.positional) > 1 else NONE)
            if name == "pop":
                owner.entries.pop(first, None)
            return found
        case FilePath() if name in {"read", "read_text"}:
            return SourceText(owner.text)
        case FilePath() if name in {"resolve", "absolute", "expanduser", "as_posix", "open"}:
            return replace(owner, text=os.path.normpath(owner.text), is_open=name == "open")
        case FilePath() if name in {"joinpath", "with_name"} and isinstance(first, str):
            folder = owner.text if name == "joinpath" else os.path.dirname(owner.text)  # noqa: PTH120
            return FilePath(os.path.join(folder, first))  # noqa: PTH118
        case str():
            return _text_method(owner, name, given)
        case _:
            return Unknown(given.line)


def _text_method(owner: str, name: str, given: GivenArguments) -> ScriptValue:
    texts = [value for value in given.positional if isinstance(value, str)]
    match name, texts:
        case "replace", [old, new] if old and len(owner) * (len(new) + 1) < _MAX_TEXT:
            return owner.replace(old, new)
        case (("strip" | "lower" | "upper"), []):
            return {"strip": owner.strip, "lower": owner.lower, "upper": owner.upper}[name]()
        case "join", [] if given.positional and (items := items_of(given.positional[0])) is not None:
            parts = [item for item in items if isinstance(item, str)]
            return owner.join(parts) if len(parts) == len(items) and sum(map(len, parts)) < _MAX_TEXT else Unknown(given.line)
        case "split", _ if len(texts) == len(given.positional) and all(texts):
            return Listed(list(owner.split(texts[0] if texts else None)))
        case _:
            return Unknown(given.line)
