"""Seeded values for every argument of a workload, and the raw bytes of scalars.

Each argument has its own random stream, named by seed, workload and argument: adding or reordering arguments does not change
the others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.devices.memory import STEP
from warpsmith.spec.kernel import Buffer, Kernel, Role, Scalar, Workload
from warpsmith.verify.pool import SPAN_BYTES, Material, alternatives
from warpsmith.verify.spikes import with_spikes
from warpsmith.verify.userfunctions import UserFunction, asked_for, call_by_name, load_function

_SCALED = frozenset({"normal", "uniform"})
_VARYING = frozenset({"normal", "uniform", "randint", "permutation"})
_OTHER_THAN_ONE = 0.5, 2.0  # and other than zero
_ALTERNATIVES = 3
_TIED = "tied"
_HALF = 0.5  # the mantissa of a power of two, as frexp gives it
_MANTISSA_BITS = {DType.F64: 52, DType.F32: 23, DType.F16: 10, DType.BF16: 7, DType.F8E4M3: 3, DType.F8E5M2: 2}
_LARGE_PART = 8  # inputs that are smaller than this part of the largest are factors, not what is gone through
_NOT_IN_NUMPY = frozenset({DType.BF16, DType.F8E4M3, DType.F8E5M2})


def make_inputs(kernel: Kernel, workload: Workload, seed: int) -> dict[str, Array]:
    """Arguments and constants by name: buffers in their shape, scalars without dimensions. Null pointers have no entry."""
    return _make(kernel, workload, seed, 0)


def make_material(kernel: Kernel, workload: Workload, seed: int) -> tuple[dict[str, Array], dict[str, Material]]:
    """The inputs, and for every non-empty buffer the material for timed launches (`verify.pool`).

    The first draw is the inputs themselves.
    """
    inputs = _make(kernel, workload, seed, 0)
    buffers = [b for b in kernel.buffers if b.role is not Role.OUT and not b.null]
    tied = _tied(kernel, buffers)
    further = [_make(kernel, workload, seed, set_) for set_ in range(1, _ALTERNATIVES)] if tied else []
    materials: dict[str, Material] = {}
    for buffer in buffers:
        if buffer.name in tied:
            sets = [np.ascontiguousarray(made[buffer.name]) for made in (inputs, *further)]
            materials[buffer.name] = alternatives(sets, _TIED)
        else:
            materials[buffer.name] = _material(buffer, kernel, workload, seed, inputs[buffer.name])
    return inputs, materials


def _make(kernel: Kernel, workload: Workload, seed: int, alternative: int) -> dict[str, Array]:
    values: dict[str, Array] = {}
    sparse = sparse_buffers(kernel, workload)
    for item in (*kernel.arguments, *kernel.constants):
        if isinstance(item, Scalar):
            values[item.name] = np.frombuffer(scalar_bytes(item, scalar_value(item, kernel, workload)), item.dtype.numpy).reshape(
                ()
            )
        elif not item.null:
            filled = _fill(item, kernel, workload, _stream(seed, alternative, workload, item), values)
            if item in sparse:  # at the same places in all of a shape
                filled = with_spikes(filled, item.dtype, np.random.default_rng([seed, *filled.shape]))
            values[item.name] = filled
    return values


def _tied(kernel: Kernel, buffers: Sequence[Buffer]) -> frozenset[str]:
    """Buffers made by a user's function, and the buffers it reads: dependent contents are drawn together."""
    tied = {b.name for b in buffers if b.init.python is not None}
    for name in [b.init.python for b in buffers if b.init.python is not None]:
        asked = asked_for(_function(kernel, name)[1])
        tied |= {b.name for b in buffers if asked is None or b.name in asked}
    return frozenset(tied)


def _material(buffer: Buffer, kernel: Kernel, workload: Workload, seed: int, values: Array) -> Material:
    kind, dtype = buffer.init.kind, buffer.dtype
    if kind not in _VARYING or not values.nbytes or workload.is_sparse:
        return Material(np.ascontiguousarray(values), values.nbytes)
    if kind == "permutation":  # rolled
        windows = max(1, values.nbytes // STEP) if values.ndim == 1 else 1
        return Material(np.concatenate([values.ravel(), values.ravel()]), values.nbytes, windows=windows)
    # However small the buffer, a piece may begin anywhere in the span.
    more = max(0, SPAN_BYTES - values.nbytes) // dtype.itemsize
    further = _generated(buffer, kernel, workload, (more,), _stream(seed, 0, workload, buffer, "further"))
    low, high = _bounds(buffer, kernel, workload)
    flips = flippable(kind, dtype, low, high) if workload.scale == 1.0 else 0
    return Material(np.concatenate([values.ravel(), further]), values.nbytes, span=SPAN_BYTES, flips=flips)


def flippable(kind: str, dtype: DType, low: float | None, high: float | None) -> int:
    """Bits of an element that may be flipped at random without leaving the range that `init` asks for."""
    size = 8 * dtype.itemsize
    if dtype.is_float:
        digits = (1 << _MANTISSA_BITS[dtype]) - 1
        if kind == "normal":  # its density falls within a power of two: the first two digits stay, with which it hardly changes
            return digits >> 2 | 1 << (size - 1)
        begins, ends = (0.0 if low is None else low), (1.0 if high is None else high)
        # Mantissa bits do not move a value past the next power of two. A narrow type's value may have been rounded up to it.
        is_whole = begins == 0 and ends > 0 and math.frexp(ends)[0] == _HALF and dtype in {DType.F32, DType.F64}
        return digits if is_whole else 0
    if dtype is DType.BOOL:
        return 1 if low is None and high is None else 0
    first, end = _integer_range(dtype, low, high)
    span = end - first
    if span == 1 << size:
        return span - 1
    return span - 1 if span & (span - 1) == 0 and first % span == 0 else 0


def shape_of(buffer: Buffer, kernel: Kernel, workload: Workload) -> tuple[int, ...]:
    names = default_names(kernel, workload)
    shape = tuple(int(extent.evaluate(names)) for extent in buffer.shape)
    if any(extent < 0 for extent in shape):
        raise InputError(f"{buffer.name} has shape {shape} on workload {workload.name!r}", location=Location(kernel.path))
    return shape


def nbytes_of(kernel: Kernel, workload: Workload) -> int:
    """Total size of all buffers that the arguments point to."""
    return sum(math.prod(shape_of(b, kernel, workload)) * b.dtype.itemsize for b in kernel.buffers if not b.null)


def default_names(kernel: Kernel, workload: Workload) -> dict[str, Value]:
    """Names that expressions about memory may use. All candidates share the memory, so parameters have their defaults here."""
    return {**kernel.defines, **kernel.default_configuration, **workload.sizes}


def scalar_value(scalar: Scalar, kernel: Kernel, workload: Workload, names: Mapping[str, Value] | None = None) -> Value:
    """The scalar's value with `names`, or the defaults. A workload may override a constant of kernel.toml."""
    value = scalar.value.evaluate(default_names(kernel, workload) if names is None else names)
    if workload.constants_factor == 1.0 or not is_constant(scalar, kernel) or isinstance(value, str):
        return value
    return value * workload.constants_factor or workload.constants_factor


def is_constant(item: Buffer | Scalar, kernel: Kernel) -> bool:
    """Whether kernel.toml fixes an argument's value that a kernel may still not assume.

    Without a reference, only for floats: other values of indices and sizes may be meaningless.
    """
    if isinstance(item, Scalar):
        return item.dtype.is_float and not item.value.names
    if item.role is not Role.IN or item.null:
        return False
    if item.init.kind == "arange":
        return kernel.reference.file is not None
    return item.dtype.is_float and item.init.kind in {"zeros", "ones"}


def _other_constants(buffer: Buffer, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if buffer.init.kind != "arange":
        low, high = _OTHER_THAN_ONE
        return generate("uniform", buffer.dtype, shape, rng, low=low, high=high)
    steps = np.arange(math.prod(shape))  # as many places, in order, and some of them twice
    return (steps - steps % 2).astype(buffer.dtype.numpy).reshape(shape)


def scalar_bytes(scalar: Scalar, value: Value) -> bytes:
    """The raw little-endian bytes that travel to the device (f16, bf16, f8: their bits)."""
    if isinstance(value, str):
        raise InputError(f"scalar {scalar.name} is {value!r}, which is not a number")
    if not scalar.dtype.is_float and scalar.dtype is not DType.BOOL:
        limits = np.iinfo(scalar.dtype.numpy)
        if value != int(value) or not limits.min <= value <= limits.max:
            hint = f"{scalar.dtype} holds whole numbers from {limits.min} to {limits.max}"
            raise InputError(f"scalar {scalar.name} = {value} does not fit {scalar.dtype}", hint=hint)
        value = int(value)
    return np.array(value, scalar.dtype.numpy).tobytes()


def as_python(argument: Buffer | Scalar, array: Array) -> Any:
    """An argument as a user's fill function gets it: scalars as numbers, types that NumPy lacks as float32."""
    if isinstance(argument, Scalar):
        return float(array) if argument.dtype.is_float else array.item()
    return array.astype(np.float32) if argument.dtype in _NOT_IN_NUMPY else array


def _fill(buffer: Buffer, kernel: Kernel, workload: Workload, rng: np.random.Generator, earlier: Mapping[str, Array]) -> Array:
    shape = shape_of(buffer, kernel, workload)
    if buffer.role is Role.OUT:
        return np.zeros(shape, buffer.dtype.numpy)
    if workload.constants_factor != 1.0 and is_constant(buffer, kernel):
        return _other_constants(buffer, shape, rng)
    if buffer.init.python is not None:
        return _from_python(buffer, shape, rng, kernel=kernel, workload=workload, earlier=earlier)
    return _generated(buffer, kernel, workload, shape, rng)


def _generated(buffer: Buffer, kernel: Kernel, workload: Workload, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    low, high = _bounds(buffer, kernel, workload)
    values = generate(buffer.init.kind, buffer.dtype, shape, rng, low=low, high=high)
    if workload.scale == 1.0 or not buffer.dtype.is_float or buffer.init.kind not in _SCALED:
        return values
    return (values.astype(np.float64) * workload.scale).astype(buffer.dtype.numpy)


def sparse_buffers(kernel: Kernel, workload: Workload) -> tuple[Buffer, ...]:
    """Buffers that have spikes on a sparse workload: large ones of random floats that may be zero."""
    if not workload.is_sparse:
        return ()
    found: list[tuple[int, Buffer]] = []
    for buffer in kernel.buffers:
        if buffer.role is not Role.OUT and not buffer.null and buffer.dtype.is_float:
            low, high = _bounds(buffer, kernel, workload)
            may_be_zero = buffer.init.kind in _SCALED and (low is None or low <= 0) and (high is None or high > 0)
            found.append((math.prod(shape_of(buffer, kernel, workload)) if may_be_zero else 0, buffer))
    largest = max((count for count, _ in found), default=0)
    return tuple(buffer for count, buffer in found if count * _LARGE_PART >= largest > 1)


def _bounds(buffer: Buffer, kernel: Kernel, workload: Workload) -> tuple[float | None, float | None]:
    names = default_names(kernel, workload)
    low, high = (float(b.evaluate(names)) if isinstance(b, Expression) else b for b in (buffer.init.low, buffer.init.high))
    return low, high


def _stream(seed: int, alternative: int, workload: Workload, buffer: Buffer, part: str = "") -> np.random.Generator:
    digest = hashlib.blake2b(f"{workload.name}\0{buffer.name}".encode() + part.encode(), digest_size=16).digest()
    more = [alternative] if alternative else []
    return np.random.default_rng([seed, *more, *np.frombuffer(digest, np.uint32).tolist()])


def generate(
    kind: str,
    dtype: DType,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Array:
    target, count = dtype.numpy, math.prod(shape)
    values: Array
    match kind:
        case "zeros":
            values = np.zeros(count, target)
        case "ones":
            values = np.ones(count, target)
        case "arange":
            values = np.arange(count)
        case "permutation":
            values = rng.permutation(count)
        case "normal" if dtype.is_float:
            values = rng.standard_normal(count, np.float64 if dtype is DType.F64 else np.float32)
        case "uniform" if dtype.is_float:
            low, high = low if low is not None else 0.0, high if high is not None else 1.0
            values = rng.random(count, np.float64 if dtype is DType.F64 else np.float32)
            values *= high - low
            values += low
        case "normal" | "uniform" | "randint":
            low_int, high_int = _integer_range(dtype, low, high)
            values = rng.integers(low_int, high_int, count, np.uint64 if dtype is DType.U64 else np.int64)
        case unknown:
            kinds = 'normal, uniform, randint, zeros, ones, arange, permutation, or python = "file.py:function"'
            raise InputError(f"unknown init {unknown!r}", hint=f"one of: {kinds}")
    return values.astype(target, copy=False).reshape(shape)


def _integer_range(dtype: DType, given_low: float | None, given_high: float | None) -> tuple[int, int]:
    """[low, high). By default the whole range of an 8-bit type, and small non-negative numbers for wider ones.

    Wide integers are more often indices and counts than data; small values keep their sums in range.
    """
    match dtype:
        case DType.BOOL:
            low, high = 0, 2
        case DType.I8:
            low, high = -128, 128
        case DType.U8:
            low, high = 0, 256
        case _:
            low, high = 0, 128
    low = math.ceil(given_low) if given_low is not None else low
    high = math.ceil(given_high) if given_high is not None else max(high, low + 1)
    if high <= low:
        raise InputError(f"init has low = {low} and high = {high}: the range is empty", hint="high is exclusive")
    return low, high


def _from_python(
    buffer: Buffer,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    kernel: Kernel,
    workload: Workload,
    earlier: Mapping[str, Array],
) -> Array:
    """The function may ask for `shape`, `dtype`, `rng`, the workload's sizes, and earlier arguments."""
    file, function = _function(kernel, buffer.init.python or "")
    seen = {item.name: as_python(item, earlier[item.name]) for item in kernel.arguments if item.name in earlier}
    dtype = np.dtype(np.float32) if buffer.dtype in _NOT_IN_NUMPY else buffer.dtype.numpy
    array = np.asarray(call_by_name(function, file, {**workload.sizes, **seen, "shape": shape, "dtype": dtype, "rng": rng}))
    if array.shape != shape or (array.dtype.kind not in "biuf" and array.dtype != buffer.dtype.numpy):
        gave = f"gave {array.dtype} of shape {array.shape} for {buffer.name} on workload {workload.name!r}"
        raise InputError(f"{function.__name__}() {gave}; expected {buffer.dtype} of shape {shape}", location=Location(file))
    return np.ascontiguousarray(array.astype(buffer.dtype.numpy, copy=True))


def _function(kernel: Kernel, named: str) -> tuple[Path, UserFunction]:
    file_name, _, function_name = named.rpartition(":")
    file = kernel.path.parent / file_name
    return file, load_function(file, function_name)
