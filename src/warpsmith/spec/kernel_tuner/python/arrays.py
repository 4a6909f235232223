"""NumPy's ways to make an array or a scalar: the dtype, shape and filling of what a call gives. CuPy and PyTorch count as it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from warpsmith.core.dtype import DType
from warpsmith.spec.kernel_tuner.python.arithmetic import as_whole, product_of
from warpsmith.spec.kernel_tuner.python.values import (
    ArrayFill,
    Dotted,
    Listed,
    Nothing,
    ScriptArray,
    ScriptNumber,
    ScriptValue,
    Unknown,
    numbers,
    whole,
)

DTYPES = {
    "float64": DType.F64, "double": DType.F64, "float": DType.F64, "float32": DType.F32, "single": DType.F32,
    "float16": DType.F16, "half": DType.F16, "int64": DType.I64, "int_": DType.I64, "int": DType.I64, "int32": DType.I32,
    "intc": DType.I32, "int16": DType.I16, "int8": DType.I8, "byte": DType.I8, "uint64": DType.U64, "uint": DType.U64,
    "uint32": DType.U32, "uintc": DType.U32, "uint16": DType.U16, "uint8": DType.U8, "ubyte": DType.U8, "bool_": DType.BOOL,
    "bool": DType.BOOL, "bfloat16": DType.BF16, "f8": DType.F64, "f4": DType.F32, "f2": DType.F16, "i8": DType.I64,
    "i4": DType.I32, "i2": DType.I16, "i1": DType.I8, "u8": DType.U64, "u4": DType.U32, "u2": DType.U16, "u1": DType.U8,
}  # fmt: skip
_MAX_NESTING = 8
_MAX_ELEMENTS = 100_000  # that a script writes out


@dataclass(frozen=True, slots=True)
class GivenArguments:
    """What a call was given: `of("size", 0)` is what stands under that name or at that place."""

    positional: Sequence[ScriptValue]
    named: Mapping[str, ScriptValue]
    line: int

    def of(self, name: str, place: int | None = None) -> ScriptValue | None:
        if name in self.named:
            return self.named[name]
        return self.positional[place] if place is not None and place < len(self.positional) else None


def dtype_of(value: ScriptValue | None) -> DType | None:
    match value:
        case Dotted(path=path):
            return DTYPES.get(path.rpartition(".")[2])
        case str():
            return DTYPES.get(value.lstrip("<>=|"))
        case _:
            return None


def typed(dtype: DType, given: GivenArguments) -> ScriptValue:  # noqa: PLR0911 - one return for each kind of value
    """`np.float32(x)`."""
    value = given.of("x", 0)
    match value:
        case ScriptNumber() if dtype.is_float:
            return ScriptNumber(float(value.value), None, dtype)
        case ScriptNumber() if dtype is DType.BOOL:
            return ScriptNumber(bool(value.value), None, dtype)
        case ScriptNumber():
            found = as_whole(value)
            return replace(found, dtype=dtype) if found is not None else Unknown(given.line)
        case None:
            return ScriptNumber(0.0 if dtype.is_float else 0, None if dtype.is_float else 0, dtype)
        case ScriptArray():
            return cast(value, dtype)
        case Listed() if (array := _listed(value, given.line)) is not None:
            return cast(array, dtype)
        case _:
            return Unknown(given.line)


def cast(array: ScriptArray, dtype: DType | None) -> ScriptArray:
    """Whole numbers of a uniform filling are drawn as such."""
    fill = array.fill
    if dtype is not None and not dtype.is_float and array.dtype is not None and array.dtype.is_float:
        ends = math.floor(fill.low or 0), math.ceil(1 if fill.high is None else fill.high)
        kept = fill.kind in {"zeros", "ones", "arange", "permutation"}
        fill = ArrayFill("randint", *ends) if fill.kind == "uniform" and ends != (0, 1) else fill if kept else ArrayFill()
    return replace(array, dtype=dtype, fill=fill)


def extents(value: ScriptValue | None) -> tuple[ScriptNumber, ...] | None:
    """A shape: one whole number or several."""
    found = [value] if isinstance(value, ScriptNumber) else numbers(value) if value is not None else None
    if found is None or not all(number.is_whole and number.value >= 0 for number in found):
        return None
    return tuple(replace(number, dtype=None) for number in found)


def reshaped(array: ScriptArray, given: GivenArguments) -> ScriptValue:
    """One extent may be -1: what is left."""
    wanted = given.positional[0] if len(given.positional) == 1 else Listed(list(given.positional))
    found = [wanted] if isinstance(wanted, ScriptNumber) else numbers(wanted)
    if found is None:
        return Unknown(given.line)
    count = product_of(list(array.shape))
    rest = product_of([number for number in found if number.value != -1])
    is_open = [number for number in found if number.value == -1]
    if is_open and (len(found) == 1 or rest is None or count is None or not rest.value):
        return replace(array, shape=(count,)) if count is not None and len(found) == 1 else Unknown(given.line)
    if is_open and rest is not None and count is not None:
        left = whole(int(count.value) // int(rest.value))
        found = [left if number.value == -1 else number for number in found]
    shape = extents(Listed(list(found)))
    return replace(array, shape=shape) if shape is not None else Unknown(given.line)


def _filled(kind: str, dtype_place: int = 1) -> Callable[[GivenArguments], ScriptArray | None]:
    def make(given: GivenArguments) -> ScriptArray | None:
        shape = extents(given.of("shape", 0))
        wanted = given.of("dtype", dtype_place)
        dtype = DType.F64 if wanted is None or isinstance(wanted, Nothing) else dtype_of(wanted)
        return ScriptArray(dtype, shape, ArrayFill(kind), given.line) if shape is not None else None

    return make


def _like(kind: str | None) -> Callable[[GivenArguments], ScriptArray | None]:
    def make(given: GivenArguments) -> ScriptArray | None:
        model = given.of("a", 0) or given.of("prototype", 0)
        wanted = given.of("dtype", 1 if kind is not None else 2)
        if not isinstance(model, ScriptArray):
            return None
        fill = ArrayFill(kind) if kind is not None else constant_fill(given.of("fill_value", 1))
        return ScriptArray(model.dtype if wanted is None else dtype_of(wanted), model.shape, fill, given.line)

    return make


def constant_fill(value: ScriptValue | None) -> ArrayFill:
    """Of an array whose elements are all that value."""
    match value:
        case ScriptNumber(value=0):
            return ArrayFill("zeros")
        case ScriptNumber(value=1):
            return ArrayFill("ones")
        case _:
            return ArrayFill()


def _full(given: GivenArguments) -> ScriptArray | None:
    value = given.of("fill_value", 1)
    is_float = isinstance(value, ScriptNumber) and isinstance(value.value, float)
    wanted = given.of("dtype", 2)
    dtype = dtype_of(wanted) if wanted is not None else DType.F64 if is_float else DType.I64
    if wanted is None and isinstance(value, ScriptNumber) and value.dtype is not None:
        dtype = value.dtype
    shape = extents(given.of("shape", 0))
    return ScriptArray(dtype, shape, constant_fill(value), given.line) if shape is not None else None


def _arange(given: GivenArguments) -> ScriptArray | None:
    ends = [value for value in (given.of("start", 0), given.of("stop", 1), given.of("step", 2)) if value is not None]
    found = [value for value in ends if isinstance(value, ScriptNumber)]
    if not found or len(found) < len(ends):
        return None
    is_float = any(isinstance(number.value, float) for number in found)
    wanted = given.of("dtype", 3)
    dtype = dtype_of(wanted) if wanted is not None else DType.F64 if is_float else DType.I64
    if len(found) == 1 and found[0].is_whole:
        return ScriptArray(dtype, (replace(found[0], dtype=None),), ArrayFill("arange"), given.line)
    low, high, step = (*([0.0] if len(found) == 1 else []), *(number.value for number in found), 1, 1)[:3]
    if not step or not math.isfinite((high - low) / step):
        return None
    kind = "arange" if low == 0 and step == 1 else None
    return ScriptArray(dtype, (whole(max(0, math.ceil((high - low) / step))),), ArrayFill(kind), given.line)


def _linspace(given: GivenArguments) -> ScriptArray | None:
    shape = extents(given.of("num", 2) or whole(50))
    wanted = given.of("dtype")
    return (
        ScriptArray(DType.F64 if wanted is None else dtype_of(wanted), shape, ArrayFill(), given.line)
        if shape is not None
        else None
    )


def _array(given: GivenArguments) -> ScriptArray | None:
    value, wanted = given.of("object", 0) or given.of("a", 0), given.of("dtype", 1)
    array = value if isinstance(value, ScriptArray) else _listed(value, given.line) if value is not None else None
    if isinstance(value, ScriptNumber):
        array = ScriptArray(
            value.dtype or (DType.F64 if isinstance(value.value, float) else DType.I64), (), ArrayFill(), given.line
        )
    return array if array is None or wanted is None else cast(array, dtype_of(wanted))


def _listed(value: ScriptValue, line: int) -> ScriptArray | None:
    """A list of numbers, or of such lists, of equal length."""
    shape: list[ScriptNumber] = []
    leaves: list[ScriptValue] = [value]
    while len(shape) < _MAX_NESTING and leaves and all(isinstance(leaf, Listed) for leaf in leaves):
        lists = [leaf for leaf in leaves if isinstance(leaf, Listed)]
        if len({len(one.items) for one in lists}) != 1:
            return None
        if len(lists) * len(lists[0].items) > _MAX_ELEMENTS:
            return None
        shape.append(whole(len(lists[0].items)))
        leaves = [item for one in lists for item in one.items]
    found = [leaf for leaf in leaves if isinstance(leaf, ScriptNumber)]
    if not shape or not found or len(found) < len(leaves):
        return None
    own = {number.dtype for number in found}
    is_float = any(isinstance(number.value, float) for number in found)
    dtype = own.pop() if len(own) == 1 and None not in own else DType.F64 if is_float else DType.I64
    values = {number.value for number in found}
    return ScriptArray(dtype, tuple(shape), constant_fill(found[0]) if len(values) == 1 else ArrayFill(), line)


MAKERS: dict[str, Callable[[GivenArguments], ScriptValue | None]] = {
    "zeros": _filled("zeros"),
    "ones": _filled("ones"),
    "empty": _filled("empty"),
    "full": _full,
    "arange": _arange,
    "zeros_like": _like("zeros"),
    "ones_like": _like("ones"),
    "empty_like": _like("empty"),
    "full_like": _like(None),
    "linspace": _linspace,
    "array": _array,
    "asarray": _array,
    "ascontiguousarray": _array,
    "copy": _array,
}
