"""The NumPy reference: the expected outputs, in float64 (integers in their own type)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.core.errors import InputError, Location
from warpsmith.core.hardware import Geometry
from warpsmith.spec.kernel import Buffer, Kernel, Role, Scalar, Workload
from warpsmith.verify.inputs import as_python, shape_of
from warpsmith.verify.userfunctions import call_by_name, load_function, require_known

_NARROW = (DType.F16, DType.F32)


def outputs_of(kernel: Kernel) -> tuple[Buffer, ...]:
    return tuple(buffer for buffer in kernel.buffers if buffer.role is not Role.IN and not buffer.null)


def expected_outputs(
    kernel: Kernel, workload: Workload, inputs: Mapping[str, Array], geometry: Geometry
) -> dict[str, Array] | None:
    """None without a reference: the original kernel is then the oracle, and the caller runs it."""
    file, name = kernel.reference.file, kernel.reference.function
    if file is None or name is None:
        return None
    available: dict[str, Any] = {"grid": geometry.grid, "block": geometry.block, **workload.sizes}
    for argument in (*kernel.constants, *kernel.arguments):
        available[argument.name] = _as_argument(argument, inputs)
    result = call_by_name(load_function(file, name), file, available)
    outputs = outputs_of(kernel)
    at = Location(file)
    if not isinstance(result, Mapping):
        if len(outputs) != 1 or isinstance(result, tuple | list) or result is None:
            wanted = ", ".join(repr(buffer.name) for buffer in outputs)
            raise InputError(
                f"{name}() returned a {type(result).__name__}", location=at, hint=f"return a dict with the keys {wanted}"
            )
        result = {outputs[0].name: result}
    missing = [buffer.name for buffer in outputs if buffer.name not in result]
    unknown = [key for key in result if key not in {buffer.name for buffer in outputs}]
    if missing or unknown:
        hint = f"the outputs are: {', '.join(buffer.name for buffer in outputs)}"
        raise InputError(f"{name}() returned {sorted(map(str, result))}", location=at, hint=hint)
    expected: dict[str, Array] = {}
    for buffer in outputs:
        try:
            expected[buffer.name] = normalised(np.asarray(result[buffer.name]), buffer.dtype, shape_of(buffer, kernel, workload))
        except ValueError as error:
            raise InputError(f"{name}() on workload {workload.name!r}: {buffer.name} {error}", location=at) from None
    return expected


def reference_problem(kernel: Kernel) -> InputError | None:
    """Problems found before calling the reference: it cannot be loaded, or asks for an unknown name."""
    file, name = kernel.reference.file, kernel.reference.function
    if file is None or name is None:
        return None
    known = ("grid", "block", *kernel.workloads[0].sizes, *(a.name for a in (*kernel.constants, *kernel.arguments)))
    try:
        require_known(load_function(file, name), file, known)
    except InputError as error:
        return error
    return None


def normalised(array: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Expected values in the form that `compare` takes. Raises ValueError with the reason if they do not fit."""
    if array.shape != shape:
        flat_or_same = array.ndim <= 1 or len(shape) <= 1 or _extents(array.shape) == _extents(shape)
        if array.size != int(np.prod(shape)) or not flat_or_same:
            raise ValueError(f"has shape {array.shape}; expected {shape}")
        array = array.reshape(shape)
    if array.dtype.kind not in "biuf" and array.dtype != dtype.numpy:
        raise ValueError(f"has dtype {array.dtype}; expected numbers for {dtype}")
    if dtype.is_float:
        with np.errstate(invalid="ignore"):  # a signalling NaN is one of ours, from beyond a buffer's end
            wide = np.ascontiguousarray(array, np.float64)
        return _representable(wide, dtype)
    with np.errstate(invalid="ignore"):
        exact = np.ascontiguousarray(array).astype(dtype.numpy)
    wrong = exact.astype(array.dtype, copy=False) != array
    if dtype is not DType.BOOL and array.dtype.kind in "iu":
        # A wrapped value casts back to itself between types of one width: the sign reveals it.
        wrong |= (exact < 0) != (array < 0)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
        raise ValueError(f"has the value {array[index]} at {list(index)}, which does not fit {dtype}")
    return exact


def _representable(values: Array, dtype: DType) -> Array:
    """Clamped as a kernel would: a correct kernel stores infinity beyond the largest finite number, or saturates in a type
    without one (f8e4m3).
    """
    if dtype is DType.F64:
        return values
    import ml_dtypes  # noqa: PLC0415 - as in core.dtype

    finfo = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call] # the package has no types for it
    largest, eps = float(finfo.max), float(finfo.eps)
    # Half a step above the largest number still rounds down to it.
    limit, beyond = (largest, largest) if dtype is DType.F8E4M3 else (largest * (1 + eps / 4), np.inf)
    over = (np.abs(values) > limit) & np.isfinite(values)
    return np.where(over, np.copysign(beyond, values), values) if over.any() else values


def _extents(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _as_argument(argument: Buffer | Scalar, inputs: Mapping[str, Array]) -> Any:
    if argument.name not in inputs:
        return None
    array = inputs[argument.name]
    seen = as_python(argument, array)
    if isinstance(argument, Scalar):
        return seen
    if argument.dtype in _NARROW:
        seen = seen.astype(np.float64)  # sums and squares in half precision would be as wrong as a kernel's own
    if argument.role is not Role.IN:
        return seen.copy() if seen is array else seen
    seen = seen.view()
    seen.flags.writeable = False  # a reference that changes an input would change the kernel's too
    return seen
