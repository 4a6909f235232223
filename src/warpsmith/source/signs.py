"""What can be said of an integer expression without computing it: that it is not negative, is signed, depends on the data."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import global_axis, of_grid
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import field, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNED = frozenset({"int", "long", "long long", "short", "int32_t", "int64_t", "ptrdiff_t", "std::int64_t", "int16_t"})
_NATURAL = frozenset({"+", "*", "/", "%", "<<", ">>", "&"})  # of what is not negative
_DEEPEST = 40


@lru_cache(maxsize=8)
def _counting(names: Names) -> dict[str, Loop]:
    """The kernel's loops by what they count: passes ask about one kernel at a time, and often."""
    return {loop.atom: loop for loop in loops_of(names.source.body, names)}


class Signs:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._loops = _counting(names)

    def loop_of(self, use: Node) -> Loop | None:
        """The loop that counts by this variable."""
        found = self._names.definition(use)
        return None if found.node is None else self._loops.get(f"{text_of(use)}@{found.node.start_byte}")

    def is_natural(self, node: Node, depth: int = 0) -> bool:  # noqa: PLR0911 - one return for each kind of expression
        """Whether it is surely not negative."""
        node = unwrapped(node)
        if depth > _DEEPEST:
            return False
        value = self._names.value(node)
        if value is not None:
            return value >= 0
        if self._names.builtin(node) is not None or of_grid(text_of(node)) is not None:
            return True
        match node.type:
            case "identifier":
                if text_of(node) in self._names.parameters:
                    return True
                found = self._names.definition(node)
                if found.origin is Origin.LOOP:
                    loop = self.loop_of(node)
                    return loop is not None and self.is_natural(loop.start, depth + 1)
                return found.is_fixed and found.value is not None and self.is_natural(found.value, depth + 1)
            case "binary_expression" if (operator := text_of(field(node, "operator"))) in _NATURAL:
                enough = any if operator == "&" else all
                return enough(self.is_natural(field(node, side), depth + 1) for side in ("left", "right"))
            case "cast_expression" if self._names.is_cast(node):
                return self.is_natural(field(node, "value"), depth + 1)
            case "call_expression" if text_of(field(node, "function")).startswith("static_cast"):
                return self.is_natural(field(node, "arguments").named_children[0], depth + 1)
            case _:
                return False

    def is_signed(self, node: Node) -> bool:  # noqa: PLR0911 - one return for each kind of expression
        """Whether nothing that the expression itself is made of is unsigned: comparisons then are those of numbers."""
        node = unwrapped(node)
        if self._names.builtin(node) is not None:
            return False
        match node.type:
            case "identifier":
                kind = self._declared_type(node)
                return kind is None or kind in _SIGNED
            case "number_literal":
                return not {"u", "U"} & set(text_of(node))
            case "binary_expression":
                return all(self.is_signed(field(node, side)) for side in ("left", "right"))
            case "cast_expression" if self._names.is_cast(node):
                return text_of(field(node, "type")) in _SIGNED
            case "call_expression":
                return text_of(field(node, "function")).removeprefix("static_cast").strip(" <>") in _SIGNED
            case _:
                return False

    def is_about_data(self, node: Node, depth: int = 0) -> bool:
        """Whether it depends on the launch's place or on an argument, and not on constants and threads alone."""
        if depth > _DEEPEST or any(self._is_place(n) for n in walk(node)):
            return True
        for use in of_kind(node, "identifier"):
            found = self._names.definition(use)
            loop = self.loop_of(use) if found.origin is Origin.LOOP else None
            inner = [found.value] if loop is None else [loop.start, loop.bound]
            if found.origin is Origin.PARAMETER or any(n is not None and self.is_about_data(n, depth + 1) for n in inner):
                return True
        return False

    def _is_place(self, node: Node) -> bool:
        builtin = self._names.builtin(node)
        return builtin.startswith("blockIdx") if builtin is not None else global_axis(text_of(node)) is not None

    def _declared_type(self, use: Node) -> str | None:
        """As it stands in a declaration; None for macros, constants of the file and template arguments."""
        found = self._names.definition(use)
        if found.node is None or found.origin not in {Origin.LOCAL, Origin.LOOP, Origin.PARAMETER}:
            return None
        declaration = found.node if found.origin is Origin.PARAMETER else found.node.parent
        kind = declaration.child_by_field_name("type") if declaration is not None else None
        return None if kind is None else " ".join(text_of(kind).split())
