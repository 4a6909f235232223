"""Variables that a loop only collects in: sums, products, maxima and their like, whose terms may come in any order.

"Any order" is meant up to rounding: for floats the results agree within a tolerance, not bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_COMBINING = frozenset({"+=", "*=", "|=", "&=", "^="})
EXTREME = re.compile(r"(?:std::|::)?f?(?:max|min)f?")


def combination(name: str, body: Node) -> str | None:
    """How the variable is combined with what steps give: `+=` or the like, or `fmaxf`; None where it is used for more."""
    uses = [n for n in of_kind(body, "identifier") if text_of(n) == name]
    found: set[str] = set()
    for node in of_kind(body, "assignment_expression"):
        target = unwrapped(field(node, "left"))
        if target.type != "identifier" or text_of(target) != name:
            continue
        value, sign = unwrapped(field(node, "right")), text_of(field(node, "operator"))
        inside = [n for n in of_kind(value, "identifier") if text_of(n) == name]
        extreme = sign == "=" and value.type == "call_expression" and EXTREME.fullmatch(text_of(field(value, "function")))
        given = [unwrapped(a) for a in field(value, "arguments").named_children] if extreme else []
        if not (sign in _COMBINING and not inside) and not (len(inside) == 1 and inside[0] in given):
            return None
        found.add(text_of(field(value, "function")) if extreme else sign)
        uses = [n for n in uses if n != target and n not in inside]
    return None if uses or len(found) != 1 else found.pop()  # two operations in turn would depend on the order


def terms_of(value: Node, operation: str) -> Iterator[Node]:
    """What an expression combines by the operation (`+`, or a function of two), however it is bracketed."""
    value = unwrapped(value)
    if operation == "+" and value.type == "binary_expression" and text_of(field(value, "operator")) == "+":
        yield from terms_of(field(value, "left"), operation)
        yield from terms_of(field(value, "right"), operation)
    elif value.type == "call_expression" and text_of(field(value, "function")) == operation:
        for argument in field(value, "arguments").named_children:
            yield from terms_of(argument, operation)
    else:
        yield value
