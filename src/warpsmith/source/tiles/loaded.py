"""What one assignment puts into an element of a shared array: a value of a buffer, from which address, under which conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.arrays import Array
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import ancestors, field, is_within, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

VECTOR_CAST = re.compile(r"reinterpret_cast\s*<\s*(?:const\s+)?float4\s*(?:const\s*)?\*\s*>")
_CONSTANT = re.compile(r"-?[\d.]+f?|(?:make_\w+|\(\w+\)\s*)\((?:\s*-?[\d.]+f?\s*,?)+\)")  # also of a vector
_COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3}


class NotATile(Exception):  # noqa: N818 - control flow: the reason why an array was not recognised
    def __init__(self, reason: str, node: Node) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


@dataclass(frozen=True, slots=True)
class Loaded:
    """`address` includes the buffer's own atom."""

    subscripts: tuple[Polynomial, ...]
    address: Polynomial
    conditions: tuple[Node, ...]
    fill: str


class Loading:
    def __init__(self, array: Array, names: Names) -> None:
        self._array = array
        self._names = names

    def of(self, write: Node, element: Node) -> Loaded:
        """Raises NotATile where it is more than a loaded value."""
        around = [a for a in ancestors(write) if a.type == "if_statement"]
        conditions = [field(a, "condition") for a in around]
        instead = [otherwise(a, element) for a in around if a.child_by_field_name("alternative") is not None]
        subscripts = tuple(Polynomial.of(index, self._names) for index in indices_of(element))
        value = unwrapped(field(write, "right"))
        if len(instead) > 1 or None in instead or (instead and value.type == "conditional_expression"):
            raise NotATile(f"{self._array.name} is filled in different ways", write)
        fill = next((text_of(field(other, "right")) for other in instead if other is not None), "0.0f")
        if value.type == "conditional_expression":
            conditions.append(field(value, "condition"))
            fill = text_of(field(value, "alternative"))
            value = unwrapped(field(value, "consequence"))
        component = 0
        if value.type == "field_expression" and text_of(field(value, "field")) in _COMPONENTS:
            component = _COMPONENTS[text_of(field(value, "field"))]
            value = unwrapped(field(value, "argument"))
        if value.type == "identifier":
            value, more = self._vector(value)
            conditions += more
        pointer = self._loaded_from(value)
        if pointer is None or not _CONSTANT.fullmatch(fill):
            raise NotATile(f"{self._array.name} is filled with more than a loaded value", write)
        return Loaded(subscripts, pointer + Polynomial.constant(component), tuple(conditions), fill)

    def _vector(self, use: Node) -> tuple[Node, list[Node]]:
        """A local that is loaded, or is zero unless a guard let it be loaded."""
        declared = self._names.source.scopes.declaration(text_of(use), use)
        changes = list(self._names.assignments(text_of(use), declared.scope)) if declared is not None else []
        if declared is None or declared.value is None or len(changes) > 1:
            raise NotATile(f"{self._array.name} is filled from {text_of(use)}, which is not a plain load", use)
        if not changes:
            return unwrapped(declared.value), []
        zero = re.fullmatch(r"make_float4\((?:0(?:\.0?)?f?,?\s*){4}\)|\{\}|0\.0?f?", text_of(declared.value))
        guard = next((a for a in ancestors(changes[0]) if a.type == "if_statement"), None)
        if zero is None or guard is None or guard.child_by_field_name("alternative") is not None:
            raise NotATile(f"{text_of(use)} is not zero-initialised when the load is skipped", use)
        return unwrapped(field(changes[0], "right")), [field(guard, "condition")]

    def _loaded_from(self, value: Node) -> Polynomial | None:
        """The address that is read, in elements."""
        if value.type == "call_expression" and text_of(field(value, "function")) == "__ldg":
            pointer = unwrapped(field(value, "arguments").named_children[0])
            if pointer.type == "pointer_expression":
                return self._loaded_from(unwrapped(field(pointer, "argument")))
            return Polynomial.of(pointer, self._names)
        if value.type == "subscript_expression":
            (index,) = indices_of(value)[:1]
            return Polynomial.of(field(value, "argument"), self._names) + Polynomial.of(index, self._names)
        if value.type == "pointer_expression" and text_of(field(value, "operator")) == "*":
            pointer = unwrapped(field(value, "argument"))
            if pointer.type == "call_expression" and VECTOR_CAST.match(text_of(pointer)):
                pointer = field(pointer, "arguments").named_children[0]
            return Polynomial.of(pointer, self._names)
        return None


def otherwise(branch: Node, element: Node) -> Node | None:
    """Of `if (in range) tile[i] = …; else tile[i] = 0;` the assignment after the `else`, where both are of this element."""
    other = branch.child_by_field_name("alternative")
    if other is None or not is_within(element, field(branch, "consequence")):
        return None
    inner = other.named_children[-1]
    statements = inner.named_children if inner.type == "compound_statement" else [inner]
    change = statements[0].named_children[0] if len(statements) == 1 and statements[0].type == "expression_statement" else None
    if change is None or change.type != "assignment_expression" or text_of(field(change, "operator")) != "=":
        return None
    return change if text_of(field(change, "left")) == text_of(element) else None


def indices_of(element: Node) -> list[Node]:
    """The subscripts of a chain, outermost first."""
    found: list[Node] = []
    while element.type == "subscript_expression":
        found.insert(0, field(element, "indices").named_children[0])
        element = unwrapped(field(element, "argument"))
    return found
