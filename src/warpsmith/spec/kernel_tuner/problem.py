"""A tuning problem as Kernel Tuner has it: what `tune_kernel` and a T1 file both say. Writing it down is `writing`'s part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from warpsmith.core import configuration
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Language
from warpsmith.spec.host.terms import Root
from warpsmith.spec.kernel import Role
from warpsmith.spec.kernel_tuner.python.assignments import Origin
from warpsmith.spec.kernel_tuner.python.values import Fill, Number

Extent: TypeAlias = Number | str  # a number with its origin, or an expression over parameters


@dataclass(frozen=True, slots=True)
class Tunable:
    """`default` is None where the file names none. `note` says what of it could not be followed."""

    name: str
    values: tuple[configuration.Value, ...]
    default: configuration.Value | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """`text` is None where it could not be read; `written` is the original."""

    text: str | None
    written: str
    place: str

    @property
    def reason(self) -> str:
        return f"a restriction of {self.place}"


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument. One with neither shape nor value could not be followed; `is_null` is a pointer to nothing."""

    place: str
    name: str | None = None
    dtype: DType | None = None
    shape: tuple[Number, ...] | None = None
    value: Extent | None = None
    fill: Fill = field(default_factory=Fill)
    role: Role | None = None
    is_null: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """`size` and `arguments` are None where they could not be followed. `notes` stand at the head of what is written.

    `source` is a file, `source_text` what a script has in itself. `compared` tells for each argument whether its result is known.
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
    parameters: tuple[Tunable, ...]
    conditions: tuple[Condition, ...]
    arguments: tuple[Passed, ...] | None
    origins: Mapping[Root, Origin]
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
