"""The arguments of a `tune_kernel` call as plain data: the answer of the worker that runs a script, and of reading one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from warpsmith.core import configuration
from warpsmith.isolation.jobs import Job
from warpsmith.spec.host.terms import Root
from warpsmith.spec.kernel_tuner.problem import Extent, Passed, Restriction, ScriptOrigin, ScriptTunable


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A file's name, or code; neither if it could not be followed. `more` are the later files of a list."""

    line: int
    file: str | None = None
    text: str | None = None
    is_function: bool = False
    more: int = 0


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """`notes` go to the head of the kernel.toml; `lines` has the location of each argument of the call."""

    line: int
    kernel_name: str | None
    source: RecordedSource
    language: str | None
    size: tuple[Extent | None, ...]
    divisors: tuple[tuple[str, ...] | None, ...]
    block_names: tuple[str, ...]
    parameters: tuple[ScriptTunable, ...]
    conditions: tuple[Restriction, ...]
    arguments: tuple[Passed, ...] | None
    origins: tuple[tuple[Root, ScriptOrigin], ...]
    shared: Extent | None = None
    constants: dict[str, Passed] = field(default_factory=dict)
    compared: tuple[bool, ...] | None = None
    atol: float | None = None
    compiler_options: tuple[str, ...] = ()
    defines: dict[str, configuration.Value] = field(default_factory=dict)
    cache: str | None = None
    not_kept: tuple[str, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """`problem` is why the script did not run to its end, or why it was only read (`is_read`)."""

    calls: tuple[RecordedCall, ...]
    problem: str | None = None
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class RunScript(Job[Recording]):
    """The script's text travels as a blob. After `seconds` it is stopped, and the answer is what was recorded until then."""

    file: str
    seconds: float
    reply: ClassVar[Any] = Recording
