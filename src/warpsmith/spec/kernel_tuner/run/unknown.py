"""Placeholder for a value that a script could not compute, so that statements that do not need it still run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_OPERATORS = (  # noqa: SIM905 - as words they can be read
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow lshift rlshift rshift rrshift and rand or "
    "ror xor rxor matmul rmatmul neg pos invert abs eq ne lt le gt ge getitem enter"
).split()


class Unknown:
    """`line` is its origin, `reason` the error behind it. Converting it to text or a number fails."""

    __array_ufunc__ = None  # NumPy leaves operators to us

    def __init__(self, line: int, reason: str = "") -> None:
        self.line = line
        self.reason = reason

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Unknown:
        return self

    def __iter__(self) -> Iterator[Unknown]:
        yield self

    def __bool__(self) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __str__(self) -> str:
        raise TypeError("an unknown value has no text")

    def __format__(self, spec: str) -> str:
        raise TypeError("an unknown value has no text")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an unknown value is no array")


def _same(self: Unknown, *_: Any) -> Unknown:
    return self


for _name in _OPERATORS:
    setattr(Unknown, f"__{_name}__", _same)


def unknown_in(values: Any) -> Unknown | None:
    """The first unknown among the values, or inside a list, tuple or dictionary of them."""
    for value in values:
        if isinstance(value, Unknown):
            return value
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        for item in list(inner)[:50]:
            if isinstance(item, Unknown):
                return item
    return None
