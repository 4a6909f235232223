"""Index arithmetic as polynomials: `blockIdx.x * blockDim.x + threadIdx.x` and what it looks like after any renaming.

Atoms are built-in names in CUDA's spelling, names that are not fixed (with the place of their declaration, so that two loops'
`i` differ), and anything that is not a sum or a product, in canonical text. Arithmetic is over the integers: overflow is the
original's own business, since a pass only compares and rearranges what the original computes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.core import algebra
from warpsmith.core.hardware import Language
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


class Polynomial(algebra.Polynomial):
    """Of an index expression."""

    @classmethod
    def of(cls, node: Node, names: Names) -> Polynomial:  # noqa: C901, PLR0911 - one return for each kind of expression
        node = unwrapped(node)
        value = names.value(node)
        if value is not None:
            return cls.constant(value)
        builtin = names.builtin(node)
        if builtin is not None:
            return cls.atom(builtin)
        text = text_of(node)
        if names.source.language is Language.OPENCL and (place := of_grid(text)) is not None:
            asked, axis = place
            blocks = cls.atom(f"{asked}.{axis}") * cls.atom(f"blockDim.{axis}")
            return blocks + cls.atom(f"threadIdx.{axis}") if asked == "blockIdx" else blocks
        if node.type == "identifier":
            if text in names.parameters:
                return cls.atom(text)
            found = names.definition(node)
            if found.is_fixed and found.value is not None and found.origin in {Origin.LOCAL, Origin.FILE, Origin.MACRO}:
                return cls.of(found.value, names)
            if found.origin is Origin.TEMPLATE and names.source.bindings[text] in names.parameters:
                return cls.atom(names.source.bindings[text])
            at = f"@{found.node.start_byte}" if found.node is not None and found.origin in {Origin.LOCAL, Origin.LOOP} else ""
            return cls.atom(text + at)
        if node.type == "binary_expression" and (operator := text_of(field(node, "operator"))) in {"+", "-", "*"}:
            left, right = cls.of(field(node, "left"), names), cls.of(field(node, "right"), names)
            return left + right if operator == "+" else left - right if operator == "-" else left * right
        if names.is_cast(node):
            return cls.of(field(node, "value"), names)
        if node.type == "call_expression" and re.match(r"static_cast\s*<", text):
            return cls.of(field(node, "arguments").named_children[0], names)
        return cls.atom(canonical(node, names))


def of_grid(text: str) -> tuple[str, str] | None:
    """What OpenCL's `get_global_id(0)` (blockIdx) or `get_global_size(0)` (gridDim) counts in blocks, and its axis.

    No offset is ever given to a launch, and all its blocks are whole: so they are the place in the grid, and how many there are.
    """
    match = re.fullmatch(r"get_global_(id|size)\s*\(\s*([012])u?\s*\)", text)
    return ("blockIdx" if match[1] == "id" else "gridDim", "xyz"[int(match[2])]) if match else None


def global_axis(text: str) -> str | None:
    """The axis of OpenCL's `get_global_id(0)`."""
    place = of_grid(text)
    return place[1] if place is not None and place[0] == "blockIdx" else None


def canonical(node: Node, names: Names) -> str:
    """The expression in one spelling: fixed names replaced by what they stand for, sums and products in order, no blanks."""
    node = unwrapped(node)
    builtin = names.builtin(node)
    if builtin is not None:
        return builtin
    if node.type == "binary_expression":
        operator = text_of(field(node, "operator"))
        if operator not in {"+", "-", "*"}:
            left, right = (Polynomial.of(field(node, side), names) for side in ("left", "right"))
            # Brackets as in the source: the text of an atom can be read back as an expression.
            before = f"({left})" if len(left.terms) > 1 else str(left)
            after = f"({right})" if len(right.terms) > 1 or any(c in str(right) for c in "*-") else str(right)
            return f"({before}{operator}{after})"
        return str(Polynomial.of(node, names))
    if node.type == "identifier":
        return str(Polynomial.of(node, names))
    if not node.named_children or node.type == "cast_expression":
        return re.sub(r"\s+", "", text_of(node))
    pieces = [canonical(c, names) if c.is_named and c.type != "field_identifier" else text_of(c) for c in node.children]
    return re.sub(r"\s+", "", "".join(pieces))
