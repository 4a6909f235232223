"""The description of a tuned kernel: its arguments, and the launch of each configuration. `table` has this kernel's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Names: TypeAlias = Mapping[str, int]  # sizes, and limits of the device that a launch asks for
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """A tensor. `leading` is how its first extent is called."""

    name: str
    dtype: str
    axes: int
    leading: str
    shape: Callable[[Names], Shape]
    is_written: bool = False
    is_output: bool = False  # written in full, so that it need not be there


@dataclass(frozen=True)
class Number:
    """What callers may say: any number (`is_free`), a size that no shape tells (`is_size`), or only what was verified."""

    name: str
    default: Any
    is_free: bool = False
    is_size: bool = False


@dataclass(frozen=True)
class Pointer:
    """A parameter of the kernel that is an operand's address; a null pointer where there is none."""

    operand: str | None


@dataclass(frozen=True)
class Value:
    """A parameter of the kernel that is a number: by its `name` where callers say it, or computed."""

    dtype: str
    name: str | None = None
    of: Callable[[Names], Any] | None = None


@dataclass(frozen=True)
class Configuration:
    """`sizes` are those that it is best for; the first configuration, which has none, is for all others."""

    name: str
    code: Mapping[str, tuple[str, str]]  # by architecture: the file of machine code and the kernel's name in it
    parameters: tuple[Pointer | Value, ...]
    grid: Callable[[Names], Shape]
    block: Callable[[Names], Shape]
    shared_bytes: Callable[[Names], int]
    requires: tuple[tuple[str, Callable[[Names], Any]], ...] = ()
    sizes: tuple[Names, ...] = ()
    alignment: int = 16  # bytes: the widest access of most GPUs
    most_threads: int = 1024  # of a block: its registers and launch bounds may allow fewer than the GPU does
    static_shared_bytes: int = 0
