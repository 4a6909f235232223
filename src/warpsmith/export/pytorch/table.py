"""The kernel-specific part of a package: arguments, dispatch by size, launches."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.export.base import Build, Shipment
from warpsmith.export.pytorch.sizes import derived_sizes
from warpsmith.export.pytorch.text import function_text, prose, python_names, tuple_text
from warpsmith.spec.kernel import Argument, Buffer, Kernel, Replaces, Role, Scalar

TORCH_TYPES = {
    DType.F64: "float64", DType.F32: "float32", DType.F16: "float16", DType.BF16: "bfloat16",
    DType.F8E4M3: "float8_e4m3fn", DType.F8E5M2: "float8_e5m2",
    DType.I64: "int64", DType.I32: "int32", DType.I16: "int16", DType.I8: "int8",
    DType.U64: "uint64", DType.U32: "uint32", DType.U16: "uint16", DType.U8: "uint8", DType.BOOL: "bool",
}  # fmt: skip
_NO_SCALARS = frozenset({DType.BF16, DType.F8E4M3, DType.F8E5M2})


@dataclass(frozen=True, slots=True)
class Shipped:
    """A configuration with its machine code: by architecture, the file and the kernel's name in it."""

    build: Build
    code: Mapping[str, tuple[str, str]]
    alignment: int
    most_threads: int = 1024
    static_shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """A number that callers may say: a free one, one that must be what it was, or a size that no shape tells."""

    name: str
    default: float | None
    is_free: bool = False
    is_size: bool = False


@dataclass(frozen=True, slots=True)
class Interface:
    """What callers give, in the order in which they give it."""

    operands: tuple[Buffer, ...]
    numbers: tuple[Said, ...]

    @property
    def outputs(self) -> list[str]:
        return [operand.name for operand in self.operands if operand.role is Role.OUT]


def interface_of(kernel: Kernel) -> Interface:
    """Raises InputError for arguments that a package cannot pass."""
    for argument in kernel.arguments:
        if isinstance(argument, Scalar) and argument.dtype in _NO_SCALARS:
            raise InputError(
                f"the scalar {argument.name!r} is {argument.dtype}, which this format cannot pass by value",
                location=Location(kernel.path),
                hint="--format header",
            )
    operands = tuple(buffer for buffer in kernel.buffers if not buffer.null)
    fixed = [a for a in kernel.arguments if isinstance(a, Scalar) and not a.value.names]
    _, unsaid = derived_sizes(_telling(operands), kernel.workloads[0].sizes)
    numbers = [*(Said(name, None, is_size=True) for name in unsaid), *map(_said, fixed)]
    names = [*(operand.name for operand in operands), *(number.name for number in numbers)]
    if twice := [name for name in unsaid if names.count(name) > 1]:
        raise InputError(
            f"the size {twice[0]!r} must be passed in a call because no shape determines it, but an argument has the same name",
            location=Location(kernel.path),
            hint="give one of them another name",
        )
    return Interface(operands, tuple(numbers))


def table_text(shipment: Shipment, interface: Interface, shipped: Sequence[Shipped], replaces: Replaces | None) -> str:
    kernel = shipment.kernel
    operands, numbers = "".join(map(_operand, interface.operands)), "".join(map(_number, interface.numbers))
    said = {number.name for number in interface.numbers}
    configurations = "".join(_configuration(shipment, one, said, is_first=index == 0) for index, one in enumerate(shipped))
    rows = replaces.rows if replaces is not None else None
    return f'''\
"""{prose(kernel.name)}: what it takes, which configuration is for which sizes, and how each is launched. Written by Warpsmith."""

import math  # noqa: F401
from pathlib import Path

from .description import Configuration, Number, Operand, Pointer, Value
from .planning import Planner
from .replacing import Replacement
from .tuned import Tuned


def _sizes(shapes):
    s = {{}}
{_sizes_text(kernel, interface)}    return s


KERNEL = Tuned(
    {kernel.name!r},
    Path(__file__).parent / "code",
    Planner(
        operands=(
{operands}        ),
        numbers=(
{numbers}        ),
        sizes=_sizes,
        configurations=(
{configurations}        ),
        most_elements={_most_elements(kernel, interface)},
        rows={rows!r},
    ),
)

REPLACEMENT = {_replacement(replaces, interface)}
'''


def call_text(kernel: Kernel, interface: Interface) -> str:
    """The function that a package is about."""
    words = python_names([*(o.name for o in interface.operands), *(n.name for n in interface.numbers)], ["KERNEL"])
    given = [words[operand.name] for operand in interface.operands if operand.role is not Role.OUT]
    sizes = [words[number.name] for number in interface.numbers if number.is_size]
    defaults = [f"{words[n.name]}={_default(n)}" for n in interface.numbers if not n.is_size]
    outputs = [f"{words[name]}=None" for name in interface.outputs]
    parameters = ", ".join([*given, *(["*"] if sizes or defaults or outputs else []), *sizes, *defaults, *outputs])
    tensors, numbers = (_dict({one.name: words[one.name] for one in ones}) for ones in (interface.operands, interface.numbers))
    return f'''\
def {function_name(kernel)}({parameters}):
    """The tuned {prose(kernel.name)} on the current stream. {_returns(interface)}

    Raises ValueError for tensors that it is not meant for: `why_not` says so beforehand.
    """
    return KERNEL.run({tensors}, {numbers})


def why_not({parameters}):
    """Why these must be left to another kernel, in words; None where the tuned one can be called."""
    return KERNEL.why_not({tensors}, {numbers})
'''


def plain_word(kernel: Kernel) -> str:
    """The kernel's name as part of a module's, and of a project's on a package index."""
    word = re.sub(r"[^a-z0-9]+", "_", kernel.name.lower()).strip("_")
    return word if word[:1].isalpha() else f"kernel_{word}".rstrip("_")


def function_name(kernel: Kernel) -> str:
    word = plain_word(kernel)
    return python_names([word], ["why_not", "load", "register"])[word]


def _returns(interface: Interface) -> str:
    written = [o.name for o in interface.operands if o.role is Role.INOUT]
    changed = f"Changes {', '.join(written)} in place." if written else ""
    outputs = f"Returns {', '.join(interface.outputs)}, allocated where not given." if interface.outputs else ""
    return " ".join(filter(None, (changed, outputs)))


def _dict(words: Mapping[str, str]) -> str:
    entries = ", ".join(f"{name!r}: {word}" for name, word in words.items())
    return f"{{{entries}}}"


def _telling(operands: Sequence[Buffer]) -> list[Buffer]:
    """Those whose shapes tell sizes: what callers need not give does not, unless there is nothing else."""
    return [o for o in operands if o.role is not Role.OUT] or list(operands)


def _said(scalar: Scalar) -> Said:
    value = scalar.value.evaluate({})
    assert not isinstance(value, str)
    if scalar.dtype.is_float:
        return Said(scalar.name, float(value), is_free=True)
    # A whole number may be what the template counts on: a stride, a mode.
    return Said(scalar.name, bool(value) if scalar.dtype is DType.BOOL else int(value))


def _sizes_text(kernel: Kernel, interface: Interface) -> str:
    found, _ = derived_sizes(_telling(interface.operands), kernel.workloads[0].sizes)
    return "".join(f'    s["{step.size}"] = {step.text}\n' for step in found)


def _most_elements(kernel: Kernel, interface: Interface) -> int:
    """Of a tensor: what was verified, or as many as an index of 32 bits can reach."""
    verified = (math.prod(int(e.evaluate(w.sizes)) for e in o.shape) for w in kernel.workloads for o in interface.operands)
    return max(2**31 - 1, *verified)


def _operand(operand: Buffer) -> str:
    written = "".join(f", {name}=True" for name, is_so in _roles(operand).items() if is_so)
    leading = str(operand.shape[0]) if operand.shape else ""
    about = f"{operand.name!r}, {TORCH_TYPES[operand.dtype]!r}, {len(operand.shape)}, {leading!r}"
    return f"            Operand({about}, {tuple_text(operand.shape)}{written}),\n"


def _roles(operand: Buffer) -> dict[str, bool]:
    return {"is_written": operand.role is not Role.IN, "is_output": operand.role is Role.OUT}


def _number(number: Said) -> str:
    kinds = {"is_free": number.is_free, "is_size": number.is_size}
    about = "".join(f", {name}=True" for name, is_so in kinds.items() if is_so)
    return f"            Number({number.name!r}, {_default(number)}{about}),\n"


def _default(number: Said) -> str:
    """As Python text: infinities have no literal."""
    value = number.default
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _configuration(shipment: Shipment, shipped: Shipped, said: Collection[str], *, is_first: bool) -> str:
    build, sizes = shipped.build, {w.name: dict(w.sizes) for w in shipment.kernel.workloads}
    best_for = "" if is_first else f"sizes={tuple(sizes[name] for name in build.workloads)!r},"
    asked = "".join(f"\n        ({str(c.expression)!r}, {function_text(c.expression)})," for c in build.conditions)
    parameters = "".join(f"\n        {_parameter(argument, said)}," for argument in build.arguments)
    name = "general" if is_first else f"for {build.workloads[0]}"  # a workload may be called general
    lines = f"""\
Configuration(
    {name!r},  # {prose(str(build.configuration))}
    code={dict(shipped.code)!r},
    parameters=({parameters}
    ),
    grid={tuple_text(build.launch.grid)},
    block={tuple_text(build.launch.block)},
    shared_bytes={function_text(build.launch.shared_bytes)},
    requires=({asked}
    ),
    alignment={shipped.alignment},
    most_threads={shipped.most_threads},
    static_shared_bytes={shipped.static_shared_bytes},
    {best_for}
),
"""
    return indent("".join(f"{line}\n" for line in lines.splitlines() if line.strip()), " " * 12)


def _parameter(argument: Argument, said: Collection[str]) -> str:
    if isinstance(argument, Buffer):
        return f"Pointer({None if argument.null else argument.name!r})"
    if argument.name in said:
        return f"Value({str(argument.dtype)!r}, {argument.name!r})"
    return f"Value({str(argument.dtype)!r}, of={function_text(argument.value)})"


def _replacement(replaces: Replaces | None, interface: Interface) -> str:
    if replaces is None:
        return "None"
    returns = interface.outputs if replaces.returns is None else replaces.returns
    about = [replaces.function, dict(replaces.arguments), dict(replaces.where), tuple(returns)]
    return f"Replacement(KERNEL, {', '.join(map(repr, about))})"
