"""Types for a kernel.toml's contents. `spec.load` reads the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Geometry, Language

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from warpsmith.core.dtype import DType
    from warpsmith.core.expression import Expression


class Role(StrEnum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True, slots=True)
class Init:
    """How a buffer is filled: a named generator, or a user's function (`python = "file.py:function"`)."""

    kind: str = "normal"
    low: float | Expression | None = None
    high: float | Expression | None = None
    python: str | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer argument. `null` passes a null pointer."""

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    role: Role = Role.IN
    init: Init = field(default_factory=Init)
    null: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A by-value argument; its value may use workload sizes and parameters."""

    name: str
    dtype: DType
    value: Expression


Argument: TypeAlias = Buffer | Scalar


@dataclass(frozen=True, slots=True)
class Launch:
    """Expressions over parameters, workload sizes and device limits."""

    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared_bytes: Expression

    def geometry(self, names: Mapping[str, Value]) -> Geometry:
        grid = [int(e.evaluate(names)) for e in self.grid]
        block = [int(e.evaluate(names)) for e in self.block]
        pad = [1, 1]
        gx, gy, gz, *_ = grid + pad
        bx, by, bz, *_ = block + pad
        return Geometry((gx, gy, gz), (bx, by, bz), int(self.shared_bytes.evaluate(names)))


@dataclass(frozen=True, slots=True)
class Workload:
    """One named shape. Held-out workloads are never used to choose a configuration, only to judge it."""

    name: str
    sizes: Mapping[str, int]
    weight: float = 1.0
    heldout: bool = False
    scale: float = 1.0  # of random float inputs; only a tester's workloads have another
    is_sparse: bool = False  # of large float inputs two elements of each row stand out, and many rows have no others
    constants_factor: float = 1.0  # of float arguments that kernel.toml fixes; where it is not 1, inputs of constants vary too

    @property
    def has_odd_values(self) -> bool:
        """Whether its values differ from what `init` asks for."""
        return self.is_sparse or self.constants_factor != 1.0


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference's address and tolerance. Without `python` the original kernel is the oracle."""

    file: Path | None = None
    function: str | None = None
    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes moved and operations of one launch, for the roofline; None: bytes are derived from the arguments."""

    bytes: Expression | None = None
    flops: Expression | None = None


@dataclass(frozen=True, slots=True)
class Replaces:
    """The Python function that a tuned kernel can replace, for exporters.

    `arguments` maps the kernel's argument names to the function's parameters where they differ; `where` lists required values
    of other parameters (default: their default). `returns` is None for all arguments with role `out`. `rows` is the first
    extent of all outputs where rows are independent: it may be several axes in the function.
    """

    function: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, Value] = field(default_factory=dict)
    returns: tuple[str, ...] | None = None
    rows: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tunable with its values in order; the default reproduces the original kernel.

    `likely` are values that its author expects to be fast, if any: a search begins there. `assumes` is what was tested but not
    proved about its other values.
    """

    name: str
    values: tuple[Value, ...]
    default: Value
    likely: tuple[Value, ...] = ()
    assumes: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    expression: Expression
    reason: str = ""

    @property
    def entry(self) -> dict[str, str]:
        """Its entry in kernel.toml and `--json`."""
        return {"expr": str(self.expression), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Kernel:
    """The contents of a kernel.toml. `template_source` is the template if it is not `source` itself.

    `template_entry` is the template's entry if it uses parameters (`k<float, BLOCK>`), which the original does not have.
    """

    name: str
    path: Path  # the kernel.toml
    source: Path
    language: Language
    entry: str
    arguments: tuple[Argument, ...]
    constants: tuple[Buffer, ...]
    launch: Launch
    workloads: tuple[Workload, ...]
    reference: Reference
    traffic: Traffic
    parameters: tuple[Parameter, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    likely: tuple[Constraint, ...] = ()  # what its author expects fast configurations to have: a search begins there
    template_source: Path | None = None
    template_entry: str | None = None
    template_foreign: bool = False
    defines: Mapping[str, Value] = field(default_factory=dict)
    include_dirs: tuple[Path, ...] = ()
    replaces: Replaces | None = None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(a for a in self.arguments if isinstance(a, Buffer))

    @property
    def folders(self) -> frozenset[Path]:
        """Folders of its files: what compiling may read besides the toolchain."""
        sources = (self.source, self.template_source) if self.template_source is not None else (self.source,)
        return frozenset({*(source.parent for source in sources), *self.include_dirs})

    @property
    def tuning_workloads(self) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if not w.heldout)

    @property
    def heldout_workloads(self) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if w.heldout)

    @property
    def default_configuration(self) -> Configuration:
        return Configuration(tuple((p.name, p.default) for p in self.parameters))
