"""What every operator and function of the expression language means, for single values.

These definitions are the language: the vectorised evaluator has shortcuts for 64-bit integers and falls back on them otherwise.

Integers are exact. `/` on two integers is integer division and, like `//` and `%`, rounds towards minus infinity (-7 / 2 is -4,
where C gives -3); with a float on either side it is ordinary division. Truth values count as 0 and 1 in arithmetic. Text can
only be compared for equality.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpsmith.core.configuration import Value

MAX_EXPONENT = 64
MAX_SHIFT = 64
# Ample for any product of sizes; stops `9**9**9` from eating the machine.
MAX_BITS = 256

Number: TypeAlias = int | float


class OperationError(Exception):
    """An operation has no result; the evaluator adds where, and with which values."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def number(value: Value) -> Number:
    if isinstance(value, str):
        raise OperationError(f"expected a number, found the text {value!r}", "text can only be compared: == != in")
    return int(value) if isinstance(value, bool) else value


def integer(value: Value) -> int:
    found = number(value)
    if isinstance(found, float):
        raise OperationError(f"expected an integer, found {found}", "int(x) drops the fraction")
    return found


def truth(value: Value) -> bool:
    return bool(number(value))


def bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OperationError(f"the result has more than {MAX_BITS} bits")
    return value


def shift_amount(value: Value) -> int:
    amount = integer(value)
    if not 0 <= amount <= MAX_SHIFT:
        raise OperationError(f"a shift by {amount}", f"shifts are from 0 to {MAX_SHIFT}")
    return amount


def exponent(value: Value) -> int:
    power = integer(value)
    if not 0 <= power <= MAX_EXPONENT:
        raise OperationError(f"an exponent of {power}", f"exponents are from 0 to {MAX_EXPONENT}")
    return power


def _divisor(value: Value) -> Number:
    found = number(value)
    if found == 0:
        raise OperationError("division by zero")
    return found


def _divide(a: Value, b: Value) -> Number:
    left, right = number(a), _divisor(b)
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


def _power(a: Value, b: Value) -> Number:
    base, power = number(a), exponent(b)
    if isinstance(base, int) and base.bit_length() * power > 2 * MAX_BITS:
        raise OperationError(f"the result has more than {MAX_BITS} bits")
    return bounded(base**power)


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda a, b: bounded(number(a) + number(b)),
    "-": lambda a, b: bounded(number(a) - number(b)),
    "*": lambda a, b: bounded(number(a) * number(b)),
    "/": _divide,
    "//": lambda a, b: number(a) // _divisor(b),
    "%": lambda a, b: number(a) % _divisor(b),
    "**": _power,
    "<<": lambda a, b: bounded(integer(a) << shift_amount(b)),
    ">>": lambda a, b: integer(a) >> shift_amount(b),
    "&": lambda a, b: integer(a) & integer(b),
    "|": lambda a, b: integer(a) | integer(b),
    "^": lambda a, b: integer(a) ^ integer(b),
}

UNARY: dict[str, Callable[[Value], Value]] = {
    "-": lambda a: -number(a),
    "~": lambda a: ~integer(a),
}


def _ordered(compare: Callable[[Number, Number], bool]) -> Callable[[Value, Value], bool]:
    return lambda a, b: compare(number(a), number(b))


COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}


def _ceildiv(a: Value, b: Value) -> int:
    divisor = integer(b)
    _divisor(divisor)
    return -(-integer(a) // divisor)


def _log2(a: Value) -> int:
    n = integer(a)
    if n <= 0:
        raise OperationError(f"log2 of {n}", "log2 is defined for positive integers, and rounds down")
    return n.bit_length() - 1


def _to_int(a: Value) -> int:
    found = number(a)
    if isinstance(found, float) and not math.isfinite(found):
        raise OperationError(f"int of {found}")
    return int(found)


def _is_pow2(a: Value) -> bool:
    n = integer(a)
    return n > 0 and n & (n - 1) == 0


# name → (fewest arguments, most arguments or None, meaning)
FUNCTIONS: dict[str, tuple[int, int | None, Callable[..., Value]]] = {
    "min": (1, None, lambda *a: min(map(number, a))),
    "max": (1, None, lambda *a: max(map(number, a))),
    "abs": (1, 1, lambda a: abs(number(a))),
    "ceildiv": (2, 2, _ceildiv),
    "divides": (2, 2, lambda a, b: integer(b) % _divisor(integer(a)) == 0),
    "round_up": (2, 2, lambda a, b: bounded(_ceildiv(a, b) * integer(b))),
    "round_down": (2, 2, lambda a, b: integer(a) // _divisor(integer(b)) * integer(b)),
    "is_pow2": (1, 1, _is_pow2),
    "log2": (1, 1, _log2),
    "gcd": (2, None, lambda *a: math.gcd(*map(integer, a))),
    "lcm": (2, None, lambda *a: bounded(math.lcm(*map(integer, a)))),
    "int": (1, 1, _to_int),
}
