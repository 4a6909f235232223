"""Whether a kernel is meant for tensors of some shapes, and how it is launched on them then: numbers, nothing of PyTorch's."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .description import Configuration, Names, Number, Operand, Pointer, Shape, Value

_TYPES = {
    "f64": ctypes.c_double, "f32": ctypes.c_float,
    "i64": ctypes.c_int64, "i32": ctypes.c_int32, "i16": ctypes.c_int16, "i8": ctypes.c_int8,
    "u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "u16": ctypes.c_uint16, "u8": ctypes.c_uint8, "bool": ctypes.c_bool,
}  # fmt: skip
_RANGES = {
    **{f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Plan:
    """A launch. `computed` has the kernel's parameters that follow from sizes, by their place."""

    configuration: Configuration
    grid: Shape
    block: Shape
    shared_bytes: int
    computed: Mapping[int, tuple[str, Any]]
    outputs: Mapping[str, Shape]  # of those that are to be allocated


@dataclass(frozen=True)
class Gpu:
    architecture: str
    limits: Names


@dataclass(frozen=True)
class Planner:
    operands: tuple[Operand, ...]
    numbers: tuple[Number, ...]
    sizes: Callable[[Mapping[str, Shape]], dict[str, int]]
    configurations: tuple[Configuration, ...]

    def plan(self, shapes: Mapping[str, Shape], numbers: Mapping[str, Any], gpu: Gpu) -> Plan | str:
        """`shapes` are those of the tensors that there are. A text says why the kernel is not for them."""
        folded = {o.name: _folded(shapes[o.name], o.axes) for o in self.operands if o.name in shapes}
        given = {number.name: numbers.get(number.name, number.default) for number in self.numbers}
        names = {**gpu.limits, **self.sizes(folded), **{n.name: given[n.name] for n in self.numbers if n.is_size}}
        reason = self._against(folded, given, names)
        if reason is not None:
            return reason
        configuration = self._configuration(names)
        if gpu.architecture not in configuration.code:
            return f"it was tuned for {', '.join(configuration.code)}, and this GPU is {gpu.architecture}"
        values = {i: p for i, p in enumerate(configuration.parameters) if isinstance(p, Value)}
        found = Plan(
            configuration,
            _three(configuration.grid(names)),
            _three(configuration.block(names)),
            configuration.shared_bytes(names),
            {place: (value.dtype, value.of(names)) for place, value in values.items() if value.of is not None},
            {o.name: self._unfolded(o, shapes, o.shape(names)) for o in self.operands if o.name not in shapes},
        )
        return _against_plan(found, names) or found

    def _against(self, folded: Mapping[str, Shape], given: Mapping[str, Any], names: Names) -> str | None:
        for number in self.numbers:
            if not number.is_size and not number.is_free and given[number.name] != number.default:
                return f"{number.name} is {given[number.name]}: it was verified with {number.default} only"
        for operand in self.operands:
            if operand.name in folded and folded[operand.name] != operand.shape(names):
                return f"{operand.name} has the shape {folded[operand.name]}, not {operand.shape(names)}"
        return None

    def _configuration(self, names: Names) -> Configuration:
        general, *others = self.configurations
        for configuration in others:
            if any(all(names[name] == value for name, value in sizes.items()) for sizes in configuration.sizes):
                return configuration
        return general

    def _unfolded(self, operand: Operand, shapes: Mapping[str, Shape], shape: Shape) -> Shape:
        """With the leading axes of a tensor whose rows are the same ones."""
        for other in self.operands:
            found = shapes.get(other.name)
            if found is not None and other.leading == operand.leading and len(found) > other.axes:
                return (*found[: len(found) - other.axes + 1], *shape[1:])
        return shape


def parameter_values(plan: Plan, addresses: Mapping[str, int], numbers: Mapping[str, Any]) -> list[Any]:
    """The kernel's parameters as the driver takes them."""
    found: list[Any] = []
    for place, parameter in enumerate(plan.configuration.parameters):
        if isinstance(parameter, Pointer):
            found.append(ctypes.c_void_p(addresses[parameter.operand] if parameter.operand is not None else None))
        elif parameter.name is not None:
            found.append(_number(parameter.dtype, numbers[parameter.name]))
        else:
            found.append(_number(*plan.computed[place]))
    return found


def _number(dtype: str, value: Any) -> Any:
    if dtype == "f16":
        return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", value))[0])
    return _TYPES[dtype](value)


def _against_plan(plan: Plan, names: Names) -> str | None:
    for text, holds in plan.configuration.requires:
        if not holds(names):
            return f"it is only for {text}"
    for dtype, value in plan.computed.values():
        if dtype in _RANGES and not _RANGES[dtype][0] <= value <= _RANGES[dtype][1]:
            return f"{value} does not fit in {dtype}"
    (x, y, z), grid = plan.block, plan.grid
    if x * y * z > names["max_threads_per_block"] or z > names["max_block_z"]:
        return f"a block would have {x} x {y} x {z} threads"
    if plan.shared_bytes > names["shared_bytes_per_block"]:
        return f"a block would need {plan.shared_bytes} bytes of shared memory"
    if any(extent > names[f"max_grid_{axis}"] for axis, extent in zip("xyz", grid, strict=True)):
        return f"there would be {grid[0]} x {grid[1]} x {grid[2]} blocks"
    return None


def _folded(shape: Shape, axes: int) -> Shape:
    extra = len(shape) - axes
    rows = 1
    for extent in shape[: extra + 1]:
        rows *= extent
    return (rows, *shape[extra + 1 :])


def _three(extents: Shape) -> Shape:
    return (*extents, 1, 1)[:3]
