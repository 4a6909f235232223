"""Frozen dataclasses as JSON objects and back: field by field, by their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_OMITTED = "omitted when None"


def omitted() -> Any:
    """A field that is omitted from the object when it is None."""
    return field(default=None, metadata={_OMITTED: True})


class ShapeError(ValueError):
    """A value of another kind than its field, or a field that is not there. `path` says where: `general.ci95`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)


def as_json(value: Any) -> Any:
    """Dataclasses as dictionaries in the order of their fields, sequences as lists."""
    if isinstance(value, Mapping):
        return {key: as_json(entry) for key, entry in value.items()}
    if is_dataclass(value):
        own = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: as_json(v) for f, v in own if not (v is None and _OMITTED in f.metadata)}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    return value.value if isinstance(value, Enum) else value


def from_json(kind: type[T], value: object) -> T:
    """Raises ShapeError. What a field is not known for is left out; what is missing takes its default."""
    return _read(kind, value, "")  # type: ignore[no-any-return]


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any, path: str) -> Any:  # noqa: PLR0911 - one for each kind of type
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in {Union, UnionType}:
        return _one_of(arguments, value, path)
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(kind, value, path)
    if origin is not None and issubclass(origin, Mapping):
        _require(isinstance(value, Mapping), "an object", value, path)
        return {key: _read(arguments[1], entry, f"{path}.{key}") for key, entry in value.items()}
    if origin is tuple or (origin is not None and issubclass(origin, Sequence)):
        _require(isinstance(value, list | tuple), "a list", value, path)
        kinds = arguments[:1] * len(value) if len(arguments) == 1 or arguments[-1] is ... else arguments
        _require(len(kinds) == len(value), f"{len(kinds)} values", value, path)
        return tuple(_read(own, entry, f"{path}[{at}]") for at, (own, entry) in enumerate(zip(kinds, value, strict=True)))
    if kind is float:
        _require(isinstance(value, int | float) and not isinstance(value, bool), "a number", value, path)
        return value
    _require(isinstance(value, kind) and not (kind is int and isinstance(value, bool)), kind.__name__, value, path)
    return value


def _one_of(kinds: Sequence[Any], value: Any, path: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    rest = [kind for kind in kinds if kind is not NoneType]
    if len(rest) == 1:
        return _read(rest[0], value, path)
    _require(isinstance(value, tuple(rest)), "one of " + ", ".join(kind.__name__ for kind in rest), value, path)
    return value


def _object(kind: type, value: Any, path: str) -> Any:
    _require(isinstance(value, Mapping), "an object", value, path)
    known = fields(kind)
    required = [f.name for f in known if f.default is MISSING and f.default_factory is MISSING]
    if lacking := [name for name in required if name not in value]:
        raise ShapeError(path, f"it has no {', '.join(lacking)}")
    hints = _hints(kind)
    given = [f.name for f in known if f.name in value]
    return kind(**{name: _read(hints[name], value[name], f"{path}.{name}".lstrip(".")) for name in given})


def _require(holds: bool, expected: str, value: object, path: str) -> None:
    if not holds:
        raise ShapeError(path, f"{expected} expected, not {value!a:.40}")
