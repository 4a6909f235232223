"""A tuned kernel as a function of tensors: whether it is meant for them, which configuration it takes, and the launch."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import torch

from .description import Configuration, Names, Number, Operand, Pointer, Shape, Value
from .driver import Function

Tensors: TypeAlias = Mapping[str, Any]  # None for what is to be allocated
Numbers: TypeAlias = Mapping[str, Any]

_MOST_BLOCKS, _MOST_BLOCKS_BEYOND_X = 2**31 - 1, 2**16 - 1  # of a grid, on every GPU


@dataclass(frozen=True)
class _Gpu:
    architecture: str
    limits: Names


@dataclass(frozen=True)
class Tuned:
    """`sizes` reads the workload's sizes from the operands' shapes."""

    name: str
    folder: Path
    operands: tuple[Operand, ...]
    numbers: tuple[Number, ...]
    sizes: Callable[[Mapping[str, Shape]], dict[str, int]]
    configurations: tuple[Configuration, ...]
    _gpus: dict[int, _Gpu] = field(default_factory=dict, init=False, compare=False, repr=False)
    _operator: Any = field(default=None, init=False, compare=False, repr=False)
    _functions: dict[tuple[str, int], Function] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compilers of PyTorch cannot look into a launch: they get an operator that they need not look into."""
        namespace, name = "warpsmith_tuned", self.folder.parent.name
        if not hasattr(getattr(torch.ops, namespace), name):
            written = tuple(f"t{i}" for i, operand in enumerate(self.operands) if operand.is_written)
            operator = torch.library.custom_op(
                f"{namespace}::{name}", self._of_operator, mutates_args=written, device_types="cuda", schema=self.schema
            )
            operator.register_fake(lambda *_: None)
        object.__setattr__(self, "_operator", getattr(getattr(torch.ops, namespace), name))

    def run(self, tensors: Tensors, numbers: Numbers) -> Any:
        """Launch it on the current stream; the outputs, one alone by itself. Raises ValueError where it is not meant for that."""
        reason = self.why_not(tensors, numbers)
        if reason is not None:
            raise ValueError(f"the tuned {self.name} is not for this: {reason}")
        whole = self.with_outputs(tensors, numbers)
        self.launch(whole, numbers)
        outputs = [whole[operand.name] for operand in self.operands if operand.is_output]
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None

    def why_not(self, tensors: Tensors, numbers: Numbers) -> str | None:
        """Why these must be left to another kernel; None where it can be launched."""
        present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        return self._against_tensors(present) or self._against_sizes(present, numbers)

    def with_outputs(self, tensors: Tensors, numbers: Numbers) -> dict[str, Any]:
        """The tensors, and new ones for outputs that were not given."""
        names = self._names(tensors, numbers)
        found = dict(tensors)
        for operand in self.operands:
            if found.get(operand.name) is None:
                shape = self._unfolded(operand, tensors, operand.shape(names))
                found[operand.name] = torch.empty(shape, dtype=getattr(torch, operand.dtype), device=_device(tensors))
        return found

    def launch(self, tensors: Tensors, numbers: Numbers) -> None:
        """All outputs are there, and `why_not` had nothing to say."""
        if torch.compiler.is_compiling() or any(_is_traced(tensor) for tensor in tensors.values()):
            values = [numbers.get(number.name, number.default) for number in self.numbers]
            self._operator(*(tensors[operand.name] for operand in self.operands), *values)
        else:
            self._launch(tensors, numbers)

    def load(self, device: int | None = None) -> None:
        """Load the machine code of every configuration now, which the first launch would do: a graph's capture allows none."""
        index = torch.cuda.current_device() if device is None else device
        with torch.cuda.device(index):
            torch.cuda.current_stream(index).synchronize()  # brings the context about
            for configuration in self.configurations:
                self._function(configuration, index)

    @property
    def schema(self) -> str:
        """Of the operator that compilers of PyTorch see instead of the launch."""
        tensors = [f"Tensor{f'(a{i}!)' if o.is_written else ''} t{i}" for i, o in enumerate(self.operands)]
        kinds = {bool: "bool", int: "int", float: "float"}
        numbers = [f"{'int' if n.is_size else kinds[type(n.default)]} n{i}" for i, n in enumerate(self.numbers)]
        return f"({', '.join([*tensors, *numbers])}) -> ()"

    def _of_operator(self, *given: Any) -> None:
        count = len(self.operands)
        tensors = {operand.name: tensor for operand, tensor in zip(self.operands, given[:count], strict=True)}
        self._launch(tensors, {number.name: value for number, value in zip(self.numbers, given[count:], strict=True)})

    # ── whether ──

    def _against_tensors(self, tensors: Tensors) -> str | None:
        devices = {tensor.device for tensor in tensors.values()}
        if len(devices) != 1 or next(iter(devices)).type != "cuda":
            return f"its tensors must be on one GPU, not on {', '.join(sorted(map(str, devices))) or 'none'}"
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors.values()):
            return "it has no gradient"
        for operand in self.operands:
            tensor = tensors.get(operand.name)
            if tensor is None:
                if operand.is_output:
                    continue
                return f"{operand.name} is missing"
            if tensor.dtype is not getattr(torch, operand.dtype):
                return f"{operand.name} is {tensor.dtype}, not torch.{operand.dtype}"
            if tensor.dim() < operand.axes:
                return f"{operand.name} has {tensor.dim()} axes, not {operand.axes}"
        return None

    def _against_sizes(self, tensors: Tensors, numbers: Numbers) -> str | None:
        for number in self.numbers:
            value = numbers.get(number.name, number.default)
            if number.is_size and value is None:
                return f"the size {number.name} is missing"
            if not number.is_size and not number.is_free and value != number.default:
                return f"{number.name} is {value}: it was verified with {number.default} only"
        names = self._names(tensors, numbers)
        for operand in self.operands:
            if operand.name in tensors:
                found, expected = _folded(tensors[operand.name].shape, operand.axes), operand.shape(names)
                if found != expected:
                    return f"{operand.name} has the shape {found}, not {expected}"
        configuration = self._configuration(names)
        return _against_launch(configuration, names) or self._against_device(configuration, _index(_device(tensors)))

    def _against_device(self, configuration: Configuration, index: int) -> str | None:
        architecture = self._gpu(index).architecture
        if architecture not in configuration.code:
            return f"it was tuned for {', '.join(configuration.code)}, and this GPU is {architecture}"
        if (configuration.name, index) not in self._functions and torch.cuda.is_current_stream_capturing():
            return "its machine code is not loaded, and cannot be while a graph is captured"
        return None

    # ── how ──

    def _launch(self, tensors: Tensors, numbers: Numbers) -> None:
        names = self._names(tensors, numbers)
        configuration = self._configuration(names)
        grid = _three(configuration.grid(names))
        if 0 in grid:
            return  # an empty tensor
        ready = {name: _ready(tensor, configuration.alignment) for name, tensor in tensors.items()}
        values = [_value(parameter, ready, numbers, names, self.numbers) for parameter in configuration.parameters]
        index = _index(_device(tensors))
        with torch.cuda.device(index):
            stream = torch.cuda.current_stream(index).cuda_stream
            block, shared_bytes = _three(configuration.block(names)), int(configuration.shared_bytes(names))
            self._function(configuration, index).launch(grid, block, shared_bytes, stream, values)
            for operand in self.operands:
                if operand.is_written and ready[operand.name] is not tensors[operand.name]:
                    tensors[operand.name].copy_(ready[operand.name])

    def _names(self, tensors: Tensors, numbers: Numbers) -> dict[str, int]:
        present = {o.name: tensors[o.name] for o in self.operands if tensors.get(o.name) is not None}
        axes = {operand.name: operand.axes for operand in self.operands}
        sizes = self.sizes({name: _folded(tensor.shape, axes[name]) for name, tensor in present.items()})
        given = {number.name: numbers.get(number.name, number.default) for number in self.numbers if number.is_size}
        return {**self._gpu(_index(_device(tensors))).limits, **sizes, **given}

    def _configuration(self, names: Names) -> Configuration:
        general, *others = self.configurations
        for configuration in others:
            if any(all(names[name] == value for name, value in sizes.items()) for sizes in configuration.sizes):
                return configuration
        return general

    def _gpu(self, index: int) -> _Gpu:
        found = self._gpus.get(index)
        if found is None:
            about = torch.cuda.get_device_properties(index)
            limits = {
                "max_threads_per_block": about.max_threads_per_block,
                "max_block_x": 1024,
                "max_block_y": 1024,
                "max_block_z": 64,
                "shared_bytes_per_block": about.shared_memory_per_block_optin,
                "warp_size": about.warp_size,
                "compute_units": about.multi_processor_count,
                "shared_banks": 32,
                "registers_per_thread": 255,
            }
            found = self._gpus[index] = _Gpu(f"sm_{about.major}{about.minor}", limits)
        return found

    def _function(self, configuration: Configuration, index: int) -> Function:
        """Loaded into the device's context, which is current."""
        key = (configuration.name, index)
        found = self._functions.get(key)
        if found is None:
            file, entry = configuration.code[self._gpu(index).architecture]
            found = self._functions[key] = Function((self.folder / file).read_bytes(), entry)
        return found

    def _unfolded(self, operand: Operand, tensors: Tensors, shape: Shape) -> Shape:
        """With the leading axes of a tensor whose rows are the same ones."""
        for other in self.operands:
            tensor = tensors.get(other.name)
            if tensor is not None and other.leading == operand.leading and tensor.dim() > other.axes:
                return (*tensor.shape[: tensor.dim() - other.axes + 1], *shape[1:])
        return shape


def _against_launch(configuration: Configuration, names: Names) -> str | None:
    for text, holds in configuration.requires:
        if not holds(names):
            return f"it is only for {text}"
    for parameter in configuration.parameters:
        if isinstance(parameter, Value) and parameter.of is not None and parameter.dtype in _RANGES:
            low, high = _RANGES[parameter.dtype]
            if not low <= parameter.of(names) <= high:
                return f"{parameter.of(names)} does not fit in {parameter.dtype}"
    return _against_geometry(configuration, names)


def _against_geometry(configuration: Configuration, names: Names) -> str | None:
    grid, (x, y, z), shared = (
        _three(configuration.grid(names)),
        _three(configuration.block(names)),
        configuration.shared_bytes(names),
    )
    if x * y * z > names["max_threads_per_block"] or z > names["max_block_z"]:
        return f"a block would have {x} x {y} x {z} threads"
    if shared > names["shared_bytes_per_block"]:
        return f"a block would need {shared} bytes of shared memory"
    if grid[0] > _MOST_BLOCKS or max(grid[1:]) > _MOST_BLOCKS_BEYOND_X:
        return f"there would be {grid[0]} x {grid[1]} x {grid[2]} blocks"
    return None


def _device(tensors: Tensors) -> Any:
    return next(tensor.device for tensor in tensors.values() if tensor is not None)


def _index(device: Any) -> int:
    return int(torch.cuda.current_device() if device.index is None else device.index)


def _folded(shape: Shape, axes: int) -> Shape:
    extra = len(shape) - axes
    rows = 1
    for extent in shape[: extra + 1]:
        rows *= extent
    return (rows, *shape[extra + 1 :])


def _three(extents: Shape) -> Shape:
    return (*extents, 1, 1)[:3]


def _is_traced(tensor: Any) -> bool:
    """Whether it stands for a tensor that is not there yet."""
    return type(tensor) not in {torch.Tensor, torch.nn.Parameter}


def _ready(tensor: Any, alignment: int) -> Any:
    """The tensor itself, or a copy where a row has gaps or its address is not one that wide accesses take."""
    if tensor.is_contiguous() and tensor.data_ptr() % alignment == 0:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


_TYPES = {
    "f64": ctypes.c_double, "f32": ctypes.c_float,
    "i64": ctypes.c_int64, "i32": ctypes.c_int32, "i16": ctypes.c_int16, "i8": ctypes.c_int8,
    "u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "u16": ctypes.c_uint16, "u8": ctypes.c_uint8, "bool": ctypes.c_bool,
}  # fmt: skip
_RANGES = {
    **{f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}


def _value(parameter: Pointer | Value, tensors: Tensors, numbers: Numbers, names: Names, known: tuple[Number, ...]) -> Any:
    """A parameter as the driver takes it."""
    if isinstance(parameter, Pointer):
        return ctypes.c_void_p(tensors[parameter.operand].data_ptr() if parameter.operand is not None else None)
    if parameter.name is not None:
        default = next(number.default for number in known if number.name == parameter.name)
        value = numbers.get(parameter.name, default)
    else:
        assert parameter.of is not None
        value = parameter.of(names)
    if parameter.dtype == "f16":
        return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", value))[0])
    return _TYPES[parameter.dtype](value)
