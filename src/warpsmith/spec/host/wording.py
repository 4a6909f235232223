"""Writes a term as a kernel.toml expression."""

from __future__ import annotations

from collections.abc import Mapping

from warpsmith.spec.host.terms import Apply, Root, SizeTerm, product, weighted

_CALLS = frozenset({"ceildiv", "min", "max"})
_SUM, _PRODUCT, _ATOM = 1, 2, 3  # how tightly a text holds together; 0: not at all


def written(term: SizeTerm, names: Mapping[Root, str]) -> str:
    """`names` has every remaining root of the term."""
    return _written(term, names)[0]


def _written(term: SizeTerm, names: Mapping[Root, str]) -> tuple[str, int]:  # noqa: PLR0911 - one return for each operator
    if isinstance(term, int):
        return str(term), _ATOM if term >= 0 else 0
    if isinstance(term, Root):
        return names[term], _ATOM
    operands = term.operands
    if term.operator in _CALLS:
        return f"{term.operator}({', '.join(written(operand, names) for operand in operands)})", _ATOM
    if term.operator == "if":
        condition, then, otherwise = (written(operand, names) for operand in operands)
        return f"{then} if {condition} else {otherwise}", 0
    if term.operator == "+":
        return _sum(term, names), _SUM
    if term.operator == "*":
        return " * ".join(_held(operand, _PRODUCT, names) for operand in operands), _PRODUCT
    if term.operator in {"/", "%"}:
        left, right = operands
        return f"{_held(left, _PRODUCT, names)} {term.operator} {_held(right, _ATOM, names)}", _PRODUCT
    return f" {term.operator} ".join(_held(operand, _ATOM, names) for operand in operands), 0


def _sum(term: Apply, names: Mapping[Root, str]) -> str:
    text = _held(term.operands[0], _SUM, names)
    for operand in term.operands[1:]:
        is_taken = weighted(operand)[0] < 0
        text += f" - {_held(product(-1, operand), _PRODUCT, names)}" if is_taken else f" + {_held(operand, _SUM, names)}"
    return text


def _held(term: SizeTerm, strength: int, names: Mapping[Root, str]) -> str:
    text, own = _written(term, names)
    # With integers, `a * (b / c)` is not `a * b / c`.
    is_quotient = isinstance(term, Apply) and term.operator in {"/", "%"}
    return f"({text})" if own < strength or (is_quotient and strength >= _PRODUCT) else text
