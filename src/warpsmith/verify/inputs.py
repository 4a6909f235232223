"""Seeded values for every argument of a workload, and the raw bytes of scalars.

Each argument draws from a stream of its own, named by seed, workload and argument: adding or reordering arguments changes no
other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.spec.kernel import Buffer, Kernel, Role, Scalar, Workload
from warpsmith.verify.userfunctions import call_by_name, load_function

_SCALED = frozenset({"normal", "uniform"})
_NOT_IN_NUMPY = frozenset({DType.BF16, DType.F8E4M3, DType.F8E5M2})


def make_inputs(kernel: Kernel, workload: Workload, seed: int) -> dict[str, Array]:
    """Arguments and constants by name: buffers in their shape, scalars without dimensions. Null pointers have no entry."""
    values: dict[str, Array] = {}
    for item in (*kernel.arguments, *kernel.constants):
        if isinstance(item, Scalar):
            values[item.name] = np.frombuffer(scalar_bytes(item, scalar_value(item, kernel, workload)), item.dtype.numpy).reshape(
                ()
            )
        elif not item.null:
            values[item.name] = _fill(item, kernel, workload, seed, values)
    return values


def shape_of(buffer: Buffer, kernel: Kernel, workload: Workload) -> tuple[int, ...]:
    names = default_names(kernel, workload)
    shape = tuple(int(extent.evaluate(names)) for extent in buffer.shape)
    if any(extent < 0 for extent in shape):
        raise InputError(f"{buffer.name} has shape {shape} on workload {workload.name!r}", location=Location(kernel.path))
    return shape


def nbytes_of(kernel: Kernel, workload: Workload) -> int:
    """Of all buffers that the arguments point to."""
    return sum(math.prod(shape_of(b, kernel, workload)) * b.dtype.itemsize for b in kernel.buffers if not b.null)


def default_names(kernel: Kernel, workload: Workload) -> dict[str, Value]:
    """What expressions about memory may use. All candidates share the memory, so parameters have their defaults here."""
    return {**kernel.defines, **kernel.default_configuration, **workload.sizes}


def scalar_value(scalar: Scalar, kernel: Kernel, workload: Workload) -> Value:
    return scalar.value.evaluate(default_names(kernel, workload))


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
    """As a user's function that fills a buffer gets an argument: scalars as numbers, types that NumPy lacks as float32."""
    if isinstance(argument, Scalar):
        return float(array) if argument.dtype.is_float else array.item()
    return array.astype(np.float32) if argument.dtype in _NOT_IN_NUMPY else array


def _fill(buffer: Buffer, kernel: Kernel, workload: Workload, seed: int, earlier: Mapping[str, Array]) -> Array:
    shape = shape_of(buffer, kernel, workload)
    if buffer.role is Role.OUT:
        return np.zeros(shape, buffer.dtype.numpy)
    digest = hashlib.blake2b(f"{workload.name}\0{buffer.name}".encode(), digest_size=16).digest()
    rng = np.random.default_rng([seed, *np.frombuffer(digest, np.uint32).tolist()])
    if buffer.init.python is not None:
        return _from_python(buffer, shape, rng, kernel=kernel, workload=workload, earlier=earlier)
    names = default_names(kernel, workload)
    low, high = (float(b.evaluate(names)) if isinstance(b, Expression) else b for b in (buffer.init.low, buffer.init.high))
    values = generate(buffer.init.kind, buffer.dtype, shape, rng, low=low, high=high)
    if workload.scale == 1.0 or not buffer.dtype.is_float or buffer.init.kind not in _SCALED:
        return values
    return (values.astype(np.float64) * workload.scale).astype(buffer.dtype.numpy)


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
            raise InputError(f"init {unknown!r} is not known", hint=f"one of: {kinds}")
    return values.astype(target, copy=False).reshape(shape)


def _integer_range(dtype: DType, given_low: float | None, given_high: float | None) -> tuple[int, int]:
    """[low, high). Unless told otherwise: all of an 8-bit type, and small non-negative numbers of a wider one.

    Wide integers are more often indices and counts than data; small ones keep sums of them in range.
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
        raise InputError(f"init has low = {low} and high = {high}, which leaves no value", hint="high is exclusive")
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
    """The function may ask for `shape`, `dtype`, `rng`, the workload's sizes, and the arguments before this one."""
    file_name, _, function_name = (buffer.init.python or "").rpartition(":")
    file = kernel.path.parent / file_name
    function = load_function(file, function_name)
    seen = {item.name: as_python(item, earlier[item.name]) for item in kernel.arguments if item.name in earlier}
    dtype = np.dtype(np.float32) if buffer.dtype in _NOT_IN_NUMPY else buffer.dtype.numpy
    array = np.asarray(call_by_name(function, file, {**workload.sizes, **seen, "shape": shape, "dtype": dtype, "rng": rng}))
    if array.shape != shape or (array.dtype.kind not in "biuf" and array.dtype != buffer.dtype.numpy):
        gave = f"gave {array.dtype} of shape {array.shape} for {buffer.name} on workload {workload.name!r}"
        raise InputError(f"{function_name}() {gave}; expected {buffer.dtype} of shape {shape}", location=Location(file))
    return np.ascontiguousarray(array.astype(buffer.dtype.numpy, copy=True))
