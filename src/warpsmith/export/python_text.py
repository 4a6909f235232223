"""Expressions of kernel.toml as Python: what Kernel Tuner evaluates conditions and sizes with, and exported packages do."""

from __future__ import annotations

from warpsmith.core.configuration import Value

_CALLS = {
    "min": "min({0})",
    "max": "max({0})",
    "abs": "abs({0})",
    "int": "int({0})",
    "ceildiv": "(-(-{1} // {2}))",
    "divides": "({2} % {1} == 0)",
    "round_up": "(-(-{1} // {2}) * {2})",
    "round_down": "({1} // {2} * {2})",
    "is_pow2": "({1} > 0 and ({1} & ({1} - 1)) == 0)",
    "log2": "(({1}).bit_length() - 1)",
}


class Python:
    def literal(self, value: Value) -> str:
        # Truth values travel as 0 and 1: Kernel Tuner reads parameters of no other kind.
        return repr(int(value) if isinstance(value, bool) else value)

    def name(self, name: str) -> str:
        return name

    def unary(self, sign: str, operand: str) -> str:
        return f"(not {operand})" if sign == "not" else f"({sign}{operand})"

    def binary(self, sign: str, left: str, right: str, *, whole: bool) -> str:
        return f"({left} {'//' if sign == '/' and whole else sign} {right})"

    def logic(self, word: str, operands: list[str]) -> str:
        return f"bool({f' {word} '.join(operands)})"  # Python's own `3 or 4` is 3

    def conditional(self, condition: str, if_true: str, if_false: str) -> str:
        return f"({if_true} if {condition} else {if_false})"

    def call(self, function: str, arguments: list[str]) -> str | None:
        form = _CALLS.get(function)
        return form.format(", ".join(arguments), *arguments) if form is not None else None
