"""Expressions of kernel.toml as Python over `s`, which has the sizes and limits by name: names may be words that Python keeps."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Sequence

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.core.expression import Expression
from warpsmith.core.plain_text import on_one_line
from warpsmith.export.expressions import spelled
from warpsmith.export.python_text import Python


class OfSizes(Python):
    def name(self, name: str) -> str:
        return f's["{name}"]'

    def call(self, function: str, arguments: list[str]) -> str | None:
        if function in {"gcd", "lcm"}:
            return f"math.{function}({', '.join(arguments)})"
        if function in {"log2", "is_pow2"}:  # of bits, which a symbol of PyTorch's does not have
            arguments = [f"int({argument})" for argument in arguments]
        return super().call(function, arguments)


def function_text(expression: Expression) -> str:
    return f"lambda s: {_without_brackets(spelled(expression, OfSizes()))}"


def tuple_text(expressions: Sequence[Expression]) -> str:
    return f"lambda s: ({''.join(f'{_without_brackets(spelled(e, OfSizes()))}, ' for e in expressions).strip()})"


def python_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """By name, a word that Python does not keep and that is not `taken`; no two are alike."""
    used, found = set(taken), {}
    for name in names:
        word = name
        while keyword.iskeyword(word) or word in used:
            word += "_"
        used.add(word)
        found[name] = word
    return found


def prose(text: str) -> str:
    """As part of a docstring, a comment or TOML: users name kernels, and drivers GPUs, as they like."""
    return on_one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _without_brackets(text: str) -> str:
    """Around the whole of it, where people would write none."""
    is_around = text.startswith("(") and until_closed(text, ROUND) == len(text)
    return text[1:-1] if is_around else text
