"""Python's operators on numbers that carry their origin, and on arrays of which only dtype, shape and filling are known."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace

from warpsmith.spec.host.expressions import ceiling, converted
from warpsmith.spec.host.terms import Apply, SizeTerm, extreme, has_floats, length, operation, product
from warpsmith.spec.kernel_tuner.python.values import ArrayFill, ScriptArray, ScriptNumber

MAX_BITS = 4096  # of a number; `9**9**9` would eat the machine
_MAX_LENGTH = 200  # of a term
_MAX_SHIFT = 62  # bits of what kernel.toml takes, and by how many it shifts
_MAX_FACTORS = 3  # of a power that is written out as a product

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CAUGHT = (ArithmeticError, ValueError, TypeError)


def combined(sign: ast.operator, left: ScriptNumber, right: ScriptNumber) -> ScriptNumber | None:
    """None where there is no result, or one too large to be meant."""
    try:
        value = _value(sign, left.value, right.value)
    except _CAUGHT:
        return None
    if value is None or isinstance(value, complex) or (isinstance(value, int) and value.bit_length() > MAX_BITS):
        return None
    dtype = left.dtype or right.dtype
    is_kept = dtype is not None and dtype.is_float == isinstance(value, float)  # a quotient of np.int32 is a float
    return ScriptNumber(value, _bounded(_term(sign, left, right), value), dtype if is_kept else None)


def compared(sign: ast.cmpop, left: ScriptNumber | str, right: ScriptNumber | str) -> bool | None:
    if isinstance(left, ScriptNumber) and isinstance(right, ScriptNumber) and type(sign) in _COMPARISONS:
        return _COMPARISONS[type(sign)](left.value, right.value)
    if isinstance(left, str) and isinstance(right, str) and isinstance(sign, ast.Eq | ast.NotEq):
        return (left == right) == isinstance(sign, ast.Eq)
    return None


def negated(number: ScriptNumber) -> ScriptNumber:
    term = product(-1, number.term) if number.is_whole and number.term is not None else None
    return ScriptNumber(-number.value, term, number.dtype)


def as_whole(number: ScriptNumber, *, is_up: bool = False) -> ScriptNumber | None:
    """`int(x)`, or with `is_up` the ceiling."""
    try:
        value = math.ceil(number.value) if is_up else int(number.value)
    except (OverflowError, ValueError):
        return None
    term = number.term
    if term is not None and has_floats(term):
        term = ceiling(term) if is_up else converted(term, is_float=False)
    return ScriptNumber(value, _bounded(term, value)) if value.bit_length() <= MAX_BITS else None


def extreme_of(which: str, found: list[ScriptNumber]) -> ScriptNumber:
    """`min` or `max`."""
    chosen = (min if which == "min" else max)(found, key=lambda number: number.value)
    terms = [number.term for number in found if number.is_whole and number.term is not None]
    if len(terms) < len(found):
        return chosen
    return replace(chosen, term=_bounded(extreme(which, *terms), chosen.value))


def product_of(found: list[ScriptNumber]) -> ScriptNumber | None:
    result: ScriptNumber | None = ScriptNumber(1, 1)
    for number in found:
        result = combined(ast.Mult(), result, number) if result is not None else None
    return replace(result, dtype=None) if result is not None else None


def array_combined(
    sign: ast.operator, left: ScriptArray | ScriptNumber, right: ScriptArray | ScriptNumber, line: int
) -> ScriptArray:
    """The shape of the one with more axes. A uniform filling stays one where a number scales or shifts it."""
    arrays = [operand for operand in (left, right) if isinstance(operand, ScriptArray)]
    largest = max(arrays, key=lambda array: len(array.shape))
    dtypes = [array.dtype for array in arrays if array.dtype is not None]
    dtype = max(dtypes, key=lambda dtype: (dtype.is_float, dtype.itemsize)) if len(dtypes) == len(arrays) else None
    fill = ArrayFill()
    number = right if isinstance(right, ScriptNumber) else left if isinstance(left, ScriptNumber) else None
    if (
        number is not None
        and isinstance(sign, ast.Add | ast.Sub | ast.Mult | ast.Div)
        and (number is right or type(sign) not in {ast.Sub, ast.Div})
    ):
        fill = _scaled(largest.fill, sign, number)
    return ScriptArray(dtype, largest.shape, fill, line)


def _scaled(fill: ArrayFill, sign: ast.operator, number: ScriptNumber) -> ArrayFill:
    if fill.kind == "zeros" and isinstance(sign, ast.Mult | ast.Div):
        return fill
    if fill.kind == "ones" and isinstance(sign, ast.Mult) and number.value in {0, 1}:
        return ArrayFill("ones" if number.value else "zeros")
    if fill.kind != "uniform":
        return ArrayFill()
    ends = [combined(sign, ScriptNumber(end), number) for end in (fill.low or 0.0, 1.0 if fill.high is None else fill.high)]
    values = sorted(end.value for end in ends if end is not None)
    return ArrayFill("uniform", *values) if len(values) == 2 and values[0] < values[1] else ArrayFill()


def _value(sign: ast.operator, left: float, right: float) -> float | None:
    match sign:
        case ast.Pow():
            is_large = isinstance(left, int) and isinstance(right, int) and abs(right) * left.bit_length() > MAX_BITS
            found: float | None = None if is_large else left**right
            return found
        case ast.LShift() | ast.RShift() if isinstance(left, int) and isinstance(right, int) and 0 <= right <= MAX_BITS:
            return left << right if isinstance(sign, ast.LShift) else left >> right
        case _:
            known = _OPERATORS.get(type(sign))
            return known(left, right) if known is not None else None


def _term(sign: ast.operator, left: ScriptNumber, right: ScriptNumber) -> SizeTerm | None:  # noqa: PLR0911 - one return for each operator
    if left.term is None or right.term is None or has_floats(left.term) or has_floats(right.term):
        return None
    if any(isinstance(n.value, int) and n.value.bit_length() > _MAX_SHIFT for n in (left, right)):
        return None
    match sign:
        case ast.Div():
            return Apply("float", (Apply("over", (left.term, right.term)),))
        case ast.Pow() if isinstance(right.term, int) and 1 <= right.term <= _MAX_FACTORS:
            return product(*[left.term] * right.term)
        case ast.LShift() | ast.RShift() if not isinstance(right.term, int) or right.term > _MAX_SHIFT:
            return None
        case _ if type(sign) in _SIGNS:
            return operation(_SIGNS[type(sign)], left.term, right.term)
        case _:
            return None


def _bounded(term: SizeTerm | None, value: float) -> SizeTerm | None:
    """A number whose origin is lost, or too long to read, is just that number."""
    if term is not None and length(term) <= _MAX_LENGTH:
        return term
    return value if isinstance(value, int) and not isinstance(value, bool) else None
