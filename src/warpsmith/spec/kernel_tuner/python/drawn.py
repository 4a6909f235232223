"""Arrays of random numbers, and the one table of all that NumPy makes arrays with."""

from __future__ import annotations

from collections.abc import Callable

from warpsmith.core.dtype import DType
from warpsmith.spec.kernel_tuner.python.arrays import MAKERS, GivenArguments, dtype_of, extents
from warpsmith.spec.kernel_tuner.python.values import (
    ArrayFill,
    Listed,
    Nothing,
    ScriptArray,
    ScriptNumber,
    ScriptValue,
    Unknown,
    whole,
)


def made(name: str, given: GivenArguments) -> ScriptValue | None:
    """What `numpy.NAME(…)` gives; None for functions that are not known here."""
    short = name.rpartition(".")[2]
    maker = _ALL.get(f"random.{short}" if "random" in name.split(".")[:-1] else short)
    if maker is None:
        return None
    return maker(given) or Unknown(given.line)


def _drawn(fill: ArrayFill, dtype: DType = DType.F64) -> Callable[[GivenArguments], ScriptValue | None]:
    """`rand(n, m)`: the extents one by one. Without any it is a single number that only a run tells."""

    def make(given: GivenArguments) -> ScriptValue | None:
        shape = extents(Listed(list(given.positional)))
        return ScriptArray(dtype, shape, fill, given.line) if shape else None

    return make


def _sized(fill: ArrayFill, size_place: int) -> Callable[[GivenArguments], ScriptValue | None]:
    """`random.random(size)`."""

    def make(given: GivenArguments) -> ScriptValue | None:
        shape, wanted = extents(given.of("size", size_place)), given.of("dtype")
        own = fill
        if size_place == 2:  # after the two numbers that the filling is made of
            first, second = given.of("low", 0) or given.of("loc", 0), given.of("high", 1) or given.of("scale", 1)
            own = _between(fill, first, second)
        dtype = DType.F64 if wanted is None else dtype_of(wanted)
        return ScriptArray(dtype, shape, own, given.line) if shape is not None else None

    return make


def _between(fill: ArrayFill, first: ScriptValue | None, second: ScriptValue | None) -> ArrayFill:
    low = first.value if isinstance(first, ScriptNumber) else None
    high = second.value if isinstance(second, ScriptNumber) else None
    if fill.kind == "normal":
        return (
            fill
            if first in {None, ScriptNumber(0, 0), ScriptNumber(0.0)} and second in {None, ScriptNumber(1, 1), ScriptNumber(1.0)}
            else ArrayFill()
        )
    low, high = low if low is not None else 0.0, high if high is not None else 1.0
    return ArrayFill("uniform", low, high) if low < high else ArrayFill()


def _randint(given: GivenArguments) -> ScriptValue | None:
    low, high, shape = given.of("low", 0), given.of("high", 1), extents(given.of("size", 2))
    if isinstance(high, Nothing) or high is None:
        low, high = whole(0), low
    if shape is None:
        return None
    wanted = given.of("dtype", 3)
    fill = ArrayFill()
    if isinstance(low, ScriptNumber) and isinstance(high, ScriptNumber) and low.value < high.value:
        fill = ArrayFill("randint", low.value, high.value)
    return ScriptArray(DType.I64 if wanted is None else dtype_of(wanted), shape, fill, given.line)


def _permutation(given: GivenArguments) -> ScriptValue | None:
    value = given.of("x", 0)
    shape = value.shape if isinstance(value, ScriptArray) else extents(value)
    if shape is None:
        return None
    fill = ArrayFill("permutation") if not isinstance(value, ScriptArray) or value.fill.kind == "arange" else value.fill
    return ScriptArray(value.dtype if isinstance(value, ScriptArray) else DType.I64, shape, fill, given.line)


_UNIFORM, _NORMAL = ArrayFill("uniform", 0.0, 1.0), ArrayFill("normal")
_ALL: dict[str, Callable[[GivenArguments], ScriptValue | None]] = {
    **MAKERS,
    "random.rand": _drawn(_UNIFORM),
    "random.randn": _drawn(_NORMAL),
    "random.random": _sized(_UNIFORM, 0),
    "random.random_sample": _sized(_UNIFORM, 0),
    "random.ranf": _sized(_UNIFORM, 0),
    "random.sample": _sized(_UNIFORM, 0),
    "random.standard_normal": _sized(_NORMAL, 0),
    "random.uniform": _sized(_UNIFORM, 2),
    "random.normal": _sized(_NORMAL, 2),
    "random.randint": _randint,
    "random.integers": _randint,
    "random.permutation": _permutation,
}
