"""What the names of a script stand for, as far as reading it tells: numbers with their origin, arrays without their elements.

A whole number has its value and the term it was computed as (`spec.host.terms`), so that `n * 2` stays an expression over `n`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, Union

from warpsmith.core.dtype import DType
from warpsmith.spec.host.terms import SizeTerm


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be followed, and the line where that was."""

    line: int


@dataclass(frozen=True, slots=True)
class ScriptNumber:
    """`dtype` is that of a NumPy scalar. A float has a term only where a division may yet be rounded to a whole number."""

    value: int | float
    term: SizeTerm | None = None
    dtype: DType | None = None

    @property
    def is_whole(self) -> bool:
        return isinstance(self.value, int) and not isinstance(self.value, bool)


@dataclass(frozen=True, slots=True)
class ArrayFill:
    """How an array begins, in kernel.toml's words; no kind where there is no word for it."""

    kind: str | None = None
    low: int | float | None = None
    high: int | float | None = None


@dataclass(frozen=True, slots=True)
class ScriptArray:
    """`dtype` is None for element types that kernel.toml lacks."""

    dtype: DType | None
    shape: tuple[ScriptNumber, ...]
    fill: ArrayFill
    line: int


@dataclass(frozen=True, slots=True)
class Dotted:
    """A module, or something in it: `numpy.random.randn`. Built-in functions are in `builtins`."""

    path: str


@dataclass(frozen=True, slots=True)
class FilePath:
    """A `pathlib.Path`, or with `is_open` what `open` gave."""

    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class SourceText:
    """What reading a file would give."""

    file: str


@dataclass(frozen=True, slots=True)
class ScriptMethod:
    """A method, with what it belongs to."""

    owner: ScriptValue
    name: str


@dataclass(eq=False, slots=True)
class Listed:
    """A list or a tuple; lists change, and all names of one see it."""

    items: list[ScriptValue]

    def copied(self) -> Listed:
        return Listed(list(self.items))


@dataclass(eq=False, slots=True)
class ScriptTable:
    """A dictionary with text for keys. `lines` says where an entry was made, `unsure` which conditions it depends on."""

    entries: dict[str, ScriptValue]
    lines: dict[str, int] = field(default_factory=dict)
    unsure: dict[str, int] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)  # lines that add entries which could not be followed

    def take(self, other: ScriptTable) -> None:
        """The entries of another, with all that is known of them."""
        self.entries |= other.entries
        self.lines |= other.lines
        self.unsure |= other.unsure
        self.missing += other.missing

    def copied(self) -> ScriptTable:
        return ScriptTable(dict(self.entries), dict(self.lines), dict(self.unsure), list(self.missing))


@dataclass(eq=False, slots=True)
class ScriptScope:
    names: dict[str, ScriptValue]
    outer: ScriptScope | None = None

    def find(self, name: str) -> ScriptValue | None:
        """None where nothing has the name: `NONE` is the value None."""
        scope: ScriptScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@dataclass(eq=False, slots=True)
class ScriptFunction:
    node: ast.FunctionDef | ast.Lambda
    scope: ScriptScope
    defaults: Mapping[str, ScriptValue]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Python's None."""


NONE = Nothing()
ScriptValue: TypeAlias = Union[  # noqa: UP007 - a name in quotes needs it
    Unknown,
    ScriptNumber,
    ScriptArray,
    Dotted,
    FilePath,
    SourceText,
    ScriptMethod,
    Listed,
    ScriptTable,
    ScriptFunction,
    Nothing,
    str,
]


def whole(value: int) -> ScriptNumber:
    return ScriptNumber(value, value)


def numbers(value: ScriptValue) -> list[ScriptNumber] | None:
    """Of a list that has nothing else."""
    if not isinstance(value, Listed):
        return None
    found = [item for item in value.items if isinstance(item, ScriptNumber)]
    return found if len(found) == len(value.items) else None
