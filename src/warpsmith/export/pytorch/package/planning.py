"""Whether a kernel supports given tensor shapes, and its launch for them. Independent of PyTorch."""

from __future__ import annotations

import ctypes
import math
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
_F16_OVERFLOWS = 65520.0  # what rounds to more than the largest one


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
    """`most_elements` is what was verified, or as many as any index of 32 bits can reach.

    `rows` is the first extent that may come as several axes, where rows do not depend on each other.
    """

    operands: tuple[Operand, ...]
    numbers: tuple[Number, ...]
    sizes: Callable[[Mapping[str, Shape]], dict[str, int]]
    configurations: tuple[Configuration, ...]
    most_elements: int = 2**31 - 1
    rows: str | None = None

    def plan(self, shapes: Mapping[str, Shape], numbers: Mapping[str, Any], gpu: Gpu, *, traced: bool = False) -> Plan | str:
        """`shapes` are those of the tensors that there are. A text says why the kernel is not for them.

        A trace is for many sizes, so that nothing in it may depend on what is best for some.
        """
        sizes = self._sizes(shapes, numbers)
        if isinstance(sizes, str):
            return sizes
        names = {**gpu.limits, **sizes}
        configuration = self.configurations[0] if traced else self._configuration(names)
        if gpu.architecture not in configuration.code:
            return f"it was tuned for {', '.join(configuration.code)}, and this GPU is {gpu.architecture}"
        outputs = {o.name: self._unfolded(o, shapes, o.shape(names)) for o in self.operands if o.name not in shapes}
        if any(size < 1 for size in sizes.values()):
            return Plan(configuration, (0, 1, 1), (1, 1, 1), 0, {}, outputs)
        try:
            return _launch_of(configuration, names, outputs)
        except ZeroDivisionError:
            return "it cannot be launched with these sizes: division by 0"

    def _sizes(self, shapes: Mapping[str, Shape], numbers: Mapping[str, Any]) -> dict[str, int] | str:
        reason = self._against_axes(shapes)
        if reason is not None:
            return reason
        folded = {o.name: _folded(shapes[o.name], o.axes) for o in self.operands if o.name in shapes}
        try:
            sizes = {**self.sizes(folded), **{n.name: numbers[n.name] for n in self.numbers if n.is_size}}
        except KeyError as missing:  # an output, where there is nothing else to tell sizes
            return f"{missing.args[0]} is missing"
        return self._against_shapes(folded, sizes) or sizes

    def _against_axes(self, shapes: Mapping[str, Shape]) -> str | None:
        leading = None
        for operand in self.operands:
            shape = shapes.get(operand.name)
            if shape is None:
                continue
            extra, is_by_row = len(shape) - operand.axes, operand.leading == self.rows
            if extra < 0 or (extra > 0 and not is_by_row):
                return f"{operand.name} has {len(shape)} axes, not {operand.axes}"
            if is_by_row and leading is not None and shape[: extra + 1] != leading:
                return f"{operand.name} has the leading axes {shape[: extra + 1]}, not {leading}"
            leading = shape[: extra + 1] if is_by_row else leading
        return None

    def against_numbers(self, given: Mapping[str, Any]) -> str | None:
        """Apart from `plan`, which depends on sizes alone."""
        for number in self.numbers:
            value = given[number.name]
            if number.is_size and value is None:
                return f"the size {number.name} is missing"
            if not (isinstance(value, (int, float) if number.is_free else int) or hasattr(value, "node")):  # a symbol, in a trace
                return f"{number.name} is {value!r}, which is no {'number' if number.is_free else 'whole number'}"
            if not number.is_size and not number.is_free and value != number.default:
                return f"{number.name} is {value}: it was verified with {number.default} only"
        return None

    def _against_shapes(self, folded: Mapping[str, Shape], sizes: Names) -> str | None:
        for operand in self.operands:
            shape = operand.shape(sizes)
            if operand.name in folded and folded[operand.name] != shape:
                return f"{operand.name} has the shape {folded[operand.name]}, not {shape}"
            if math.prod(shape) > self.most_elements:
                return f"{operand.name} has more than {self.most_elements} elements"
            for name, size in sizes.items():
                # A kernel that does not run leaves what it should have written as it was.
                if size < 1 and operand.is_written and 0 not in shape:
                    return f"{name} is {size}, and {operand.name} is to be written"
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
            if found is not None and other.leading == operand.leading == self.rows:
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
        inside = math.copysign(math.inf, value) if abs(value) >= _F16_OVERFLOWS else value
        return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", inside))[0])
    return _TYPES[dtype](int(value) if dtype in _RANGES else value)


def _launch_of(configuration: Configuration, names: Names, outputs: Mapping[str, Shape]) -> Plan | str:
    for text, holds in configuration.requires:
        if not holds(names):
            return f"it is only for {text}"
    values = {i: p for i, p in enumerate(configuration.parameters) if isinstance(p, Value)}
    found = Plan(
        configuration,
        _three(configuration.grid(names)),
        _three(configuration.block(names)),
        configuration.shared_bytes(names),
        {place: (value.dtype, value.of(names)) for place, value in values.items() if value.of is not None},
        outputs,
    )
    return _against_plan(found, names) or found


def _against_plan(plan: Plan, names: Names) -> str | None:
    for dtype, value in plan.computed.values():
        is_fraction = isinstance(value, float) and not value.is_integer()
        if dtype in _RANGES and (is_fraction or not _RANGES[dtype][0] <= value <= _RANGES[dtype][1]):
            return f"{value} does not fit in {dtype}"
    (x, y, z), grid = plan.block, plan.grid
    if min(x, y, z) < 1 or x * y * z > plan.configuration.most_threads or z > names["max_block_z"]:
        return f"a block would have {x} x {y} x {z} threads"
    shared_bytes = plan.shared_bytes + plan.configuration.static_shared_bytes
    if shared_bytes > names["shared_bytes_per_block"]:
        return f"a block would need {shared_bytes} bytes of shared memory"
    if any(not 1 <= extent <= names[f"max_grid_{axis}"] for axis, extent in zip("xyz", grid, strict=True)):
        return f"there would be {grid[0]} x {grid[1]} x {grid[2]} blocks"
    return None


def _folded(shape: Shape, axes: int) -> Shape:
    extra = len(shape) - axes
    return (math.prod(shape[: extra + 1]), *shape[extra + 1 :]) if extra > 0 else shape


def _three(extents: Shape) -> Shape:
    return (*extents, 1, 1)[:3]
