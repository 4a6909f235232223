"""Evaluates plain Python values (numbers, text, lists, dictionaries and arithmetic on them) without running code.

Used for strings in T1 files and for scripts that cannot be run. Numbers and lists are bounded.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

_MAX_BITS = 4096
_MAX_ITEMS = 20_000
_MAX_STEPS = 100_000
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "range": range, "list": list, "tuple": tuple, "sorted": sorted, "len": len, "min": min, "max": max, "sum": sum, "abs": abs,
    "int": int, "float": float, "dict": dict, "OrderedDict": dict, "prod": math.prod, "ceil": math.ceil, "log2": math.log2,
}  # fmt: skip
FAILURES = (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError)


def value_of_text(text: str, names: Mapping[str, Any]) -> Any:
    """Raises one of FAILURES if it is not such a value."""
    try:
        return value_of_node(ast.parse(text.strip(), mode="eval").body, names)
    except SyntaxError as error:
        raise ValueError(str(error)) from None


def value_of_node(node: ast.expr, names: Mapping[str, Any]) -> Any:
    return _Evaluation().of(node, names)


class _Evaluation:
    def __init__(self) -> None:
        self._steps = 0

    def of(self, node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: C901, PLR0911 - one return for each kind
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise ValueError("too long to compute")
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return names[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                found = [self.of(part, names) for part in parts]
                return tuple(found) if isinstance(node, ast.Tuple) else found
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.of(k, names): self.of(v, names) for k, v in zip(keys, values, strict=True) if k is not None}
            case ast.BinOp(left=left, op=sign, right=right):
                return _combined(sign, self.of(left, names), self.of(right, names))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.of(inner, names)
            case ast.Subscript(value=owner, slice=key):
                return self.of(owner, names)[self.of(key, names)]
            case ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators):
                return self._comprehended(element, generators, names)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=parts, keywords=[]) if name in _FUNCTIONS:
                return _bounded(_FUNCTIONS[name](*(self.of(part, names) for part in parts)))
            case _:
                raise ValueError("not a plain value")

    def _comprehended(self, element: ast.expr, generators: list[ast.comprehension], names: Mapping[str, Any]) -> list[Any]:
        if not generators:
            return [self.of(element, names)]
        first, *rest = generators
        if not isinstance(first.target, ast.Name):
            raise TypeError("not a plain comprehension")
        found: list[Any] = []
        for item in _bounded(self.of(first.iter, names)):
            inner = {**names, first.target.id: item}
            if all(self.of(condition, inner) for condition in first.ifs):
                found += self._comprehended(element, rest, inner)
                _bounded(found)
        return found


def _combined(sign: ast.operator, left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, list | tuple | str) and isinstance(other, int) and len(one) * other > _MAX_ITEMS:
            raise ValueError("too long")
    sizes = [value.bit_length() if isinstance(value, int) else 0 for value in (left, right)]
    if isinstance(sign, ast.Pow | ast.LShift) and (right > _MAX_BITS or sizes[0] * right > _MAX_BITS):
        raise ValueError("too large")
    return _bounded(_OPERATORS[type(sign)](left, right))


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ValueError("too large")
    if isinstance(value, list | tuple | str | range) and value[_MAX_ITEMS:]:
        raise ValueError("too long")
    return value
