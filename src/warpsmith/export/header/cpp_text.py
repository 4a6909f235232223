"""Expressions of kernel.toml as C++, and names that C++ takes. Integers are `long long`; division rounds down."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import reduce

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError

HELPERS = """\
namespace expression {
// As in kernel.toml: whole-number division rounds down, also below zero.
inline long long floor_div(long long a, long long b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
inline long long floor_mod(long long a, long long b) { return a - floor_div(a, b) * b; }
inline long long ceil_div(long long a, long long b) { return -floor_div(-a, b); }
template <typename A, typename B> inline auto least(A a, B b) -> decltype(a + b) { return b < a ? b : a; }
template <typename A, typename B> inline auto greatest(A a, B b) -> decltype(a + b) { return a < b ? b : a; }
template <typename A> inline A magnitude(A a) { return a < 0 ? -a : a; }
template <typename A> inline A power(A a, long long n) { A r = 1; while (n-- > 0) r *= a; return r; }
inline bool is_pow2(long long a) { return a > 0 && (a & (a - 1)) == 0; }
inline long long log2(long long a) { long long n = 0; while (a > 1) { a >>= 1; ++n; } return n; }
inline long long gcd(long long a, long long b) { while (b != 0) { long long r = a % b; a = b; b = r; } return magnitude(a); }
inline long long lcm(long long a, long long b) { return a == 0 || b == 0 ? 0 : magnitude(a / gcd(a, b) * b); }
}  // namespace expression
"""

_KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr continue
    decltype default delete do double else enum explicit export expression extern false float for friend general goto if inline
    int long mutable namespace new noexcept not nullptr operator or private protected public register requires return short
    signed sizeof static struct switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile while xor""".split()  # noqa: SIM905 - easier to read than a list of quoted words
)
_CALLS = {
    "abs": "expression::magnitude({0})",
    "ceildiv": "expression::ceil_div({0}, {1})",
    "divides": "(expression::floor_mod({1}, {0}) == 0)",
    "round_up": "(expression::ceil_div({0}, {1}) * {1})",
    "round_down": "(expression::floor_div({0}, {1}) * {1})",
    "is_pow2": "expression::is_pow2({0})",
    "log2": "expression::log2({0})",
    "int": "static_cast<long long>({0})",
}
_FOLDED_CALLS = {"min": "least", "max": "greatest", "gcd": "gcd", "lcm": "lcm"}
_WHOLE = {"/": "expression::floor_div", "//": "expression::floor_div", "%": "expression::floor_mod", "**": "expression::power"}


class Cpp:
    def literal(self, value: Value) -> str:
        if isinstance(value, str):
            raise InputError(f"the text {value!r} cannot be written in this format")
        if isinstance(value, bool):
            return str(value).lower()
        return f"({value}LL)" if isinstance(value, int) else f"({value!r})"

    def name(self, name: str) -> str:
        return cpp_name(name)

    def unary(self, sign: str, operand: str) -> str:
        return f"({'!' if sign == 'not' else sign}{operand})"

    def binary(self, sign: str, left: str, right: str, *, whole: bool) -> str:
        if whole and sign in _WHOLE:
            return f"{_WHOLE[sign]}({left}, {right})"
        if sign in {"//", "%", "**"}:
            raise InputError(f"{sign} of fractions cannot be written in this format")
        return f"({left} {sign} {right})"

    def logic(self, word: str, operands: list[str]) -> str:
        return f"({(' && ' if word == 'and' else ' || ').join(operands)})"

    def conditional(self, condition: str, if_true: str, if_false: str) -> str:
        return f"({condition} ? {if_true} : {if_false})"

    def call(self, function: str, arguments: list[str]) -> str | None:
        if function in _FOLDED_CALLS:
            return reduce(lambda sofar, argument: f"expression::{_FOLDED_CALLS[function]}({sofar}, {argument})", arguments)
        form = _CALLS.get(function)
        return form.format(*arguments) if form is not None else None


def cpp_name(name: str) -> str:
    """A size or a scalar of kernel.toml, whose names may be words that C++ keeps for itself."""
    return f"{name}_" if name in _KEYWORDS else name


def identifier(text: str, taken: Collection[str] = ()) -> str:
    """Any name as one that C++ takes; with a number where that is taken."""
    plain = re.sub(r"\W+", "_", text, flags=re.ASCII)
    plain = f"_{plain}" if plain[:1].isdigit() else plain
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}_{number}"
    return found
