"""Describes a script's values as plain data: numbers with terms, arrays with dtype, shape and fill instead of elements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from warpsmith.core import configuration
from warpsmith.core.dtype import DType
from warpsmith.spec.host.terms import has_floats
from warpsmith.spec.kernel_tuner.problem import Passed, ScriptNumber
from warpsmith.spec.kernel_tuner.run.fills import fill_of
from warpsmith.spec.kernel_tuner.run.tracing import Tracing
from warpsmith.spec.kernel_tuner.run.unknown import Unknown

_MAX_BITS = 4096  # of a number, which a reply writes out in decimals


def value_of(value: Any) -> configuration.Value | None:
    """A plain number or text; None for everything else."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case bool():
            return value
        case int():
            return int(value) if value.bit_length() <= _MAX_BITS else None
        case float():
            return float(value)
        case str():
            return str(value)
        case _:
            return None


def number_of(value: Any, tracing: Tracing) -> ScriptNumber | None:
    """A number with its term; a quotient's is kept only if it is rounded."""
    plain = value_of(value)
    if plain is None or isinstance(plain, str):
        return None
    term = tracing.term_of(value)
    is_kept = isinstance(plain, int) and not isinstance(plain, bool) and term is not None and not has_floats(term)
    return ScriptNumber(plain, term if is_kept else None, dtype_of(value.dtype) if isinstance(value, np.generic) else None)


def passed(value: Any, tracing: Tracing, file: str, line: int) -> Passed:
    """An argument. `line` is the call's, for values without their own."""
    place = f"{file}:{line}"
    if value is None:
        return Passed(place, is_null=True)
    if isinstance(value, Unknown):
        reason = f" ({value.reason})" if value.reason else ""
        return Passed(f"{file}:{value.line or line}{reason}")
    if isinstance(value, np.ndarray):
        known = tracing.array(value)
        return _array(value, tracing, f"{file}:{known.line}" if known is not None else place)
    number = number_of(value, tracing)
    if number is not None:
        return Passed(place, number.dtype, value=number)
    try:
        converted = np.asarray(value)
    except Exception:  # noqa: BLE001 - whatever a library's own arrays raise
        return Passed(place)
    return _array(converted, tracing, place) if converted.dtype.kind in "fiub" and converted.ndim else Passed(place)


def _array(array: np.ndarray[Any, Any], tracing: Tracing, place: str) -> Passed:
    if array.dtype.kind == "c":
        parts = array.reshape(-1).view(array.real.dtype)
        inner = _array(parts, tracing, place)
        return replace(inner, shape=(*tracing.shape_of(array), ScriptNumber(2, 2)))
    dtype = dtype_of(array.dtype)
    if dtype is None:
        return Passed(place, shape=tracing.shape_of(array))
    return Passed(place, dtype, tracing.shape_of(array), fill=fill_of(array))


@cache
def _dtypes() -> dict[Any, DType]:
    return {dtype.numpy: dtype for dtype in DType}


def dtype_of(dtype: np.dtype[Any]) -> DType | None:
    """None for element types that kernel.toml lacks."""
    return _dtypes().get(dtype.newbyteorder("="))
