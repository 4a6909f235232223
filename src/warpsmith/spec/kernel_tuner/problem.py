"""A Kernel Tuner tuning problem, common to `tune_kernel` and T1 files. `writing` writes it as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from warpsmith.core import configuration
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Language
from warpsmith.spec.host.terms import Root, SizeTerm
from warpsmith.spec.kernel import Role

BLOCK_SIZES = {"block_size_x": 256, "block_size_y": 1, "block_size_z": 1}
"""The block's names, and Kernel Tuner's default for those without a parameter."""


@dataclass(frozen=True, slots=True)
class ScriptNumber:
    """An integer with the term it was computed as, so that `n * 2` stays an expression. `dtype` is that of a NumPy scalar."""

    value: bool | int | float
    term: SizeTerm | None = None
    dtype: DType | None = None

    @property
    def is_whole(self) -> bool:
        return isinstance(self.value, int) and not isinstance(self.value, bool)


@dataclass(frozen=True, slots=True)
class ScriptOrigin:
    """A root's number and its origin."""

    value: int
    line: int


@dataclass(frozen=True, slots=True)
class ArrayFill:
    """An array's initial contents as a kernel.toml `init`; no kind if kernel.toml has none for it."""

    kind: str | None = None
    low: int | float | None = None
    high: int | float | None = None


Extent: TypeAlias = ScriptNumber | str  # a number with its origin, or an expression over parameters


@dataclass(frozen=True, slots=True)
class ScriptTunable:
    """`default` is None if the file names none. `note` says which part could not be followed."""

    name: str
    values: tuple[configuration.Value, ...]
    default: configuration.Value | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Restriction:
    """`text` is None if it could not be converted; `written` is the original."""

    text: str | None
    written: str
    place: str

    @property
    def reason(self) -> str:
        return f"a restriction of {self.place}"


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument. One with neither shape nor value could not be followed; `is_null` is a null pointer."""

    place: str
    dtype: DType | None = None
    shape: tuple[ScriptNumber, ...] | None = None
    value: Extent | None = None
    fill: ArrayFill = field(default_factory=ArrayFill)
    role: Role | None = None
    is_null: bool = False


@dataclass(frozen=True, slots=True)
class TuningProblem:
    """`size` and `arguments` are None if they could not be followed. `notes` go to the head of the output.

    `source` is a file, `source_text` code in the script itself. `compared` tells for each argument whether its result is known.
    """

    file: Path
    place: str
    written: str
    kernel_name: str | None
    source: Path | None
    source_text: str | None
    language: Language | None
    size: tuple[Extent, ...] | None
    divisors: tuple[tuple[str, ...] | None, ...]
    block: tuple[str, ...]
    parameters: tuple[ScriptTunable, ...]
    conditions: tuple[Restriction, ...]
    arguments: tuple[Passed, ...] | None
    origins: Mapping[Root, ScriptOrigin]
    shared: Extent | None = None
    constants: Mapping[str, Passed] = field(default_factory=dict)
    compared: tuple[bool, ...] | None = None
    atol: float | None = None
    defines: Mapping[str, configuration.Value] = field(default_factory=dict)
    include_dirs: tuple[str, ...] = ()
    cache: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def parameter_names(self) -> frozenset[str]:
        return frozenset(parameter.name for parameter in self.parameters)


def whole(value: int) -> ScriptNumber:
    return ScriptNumber(value, value)


def size_of(axes: Iterable[Extent | None]) -> tuple[Extent, ...] | None:
    """A problem's size; None if an axis could not be followed. Trailing axes of one are dropped."""
    found = list(axes)
    while len(found) > 1 and isinstance(last := found[-1], ScriptNumber) and last.value == 1:
        found.pop()
    return tuple(e for e in found if e is not None) if found and None not in found else None
