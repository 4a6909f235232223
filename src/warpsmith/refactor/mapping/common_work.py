"""What the threads of a block along one axis have in common: values, loops with the same steps, loads of the same element.

For `folded_code`: where one thread stands for several, such things are done once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.source import Names
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import base_name, identifiers, is_in_inner_loop, is_pure_call
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.statements import header_of
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import ancestors, field, of_kind, text_of
from warpsmith.source.uniform import Uniformity

if TYPE_CHECKING:
    from tree_sitter import Node


class CommonWork:
    def __init__(self, names: Names, axis: str) -> None:
        self._names, self._axis = names, axis
        own = [a for a in arrays_of(names) if not a.is_shared and a.declarator.type == "array_declarator"]
        self._alike = {a.name: a.declarator for a in own}  # a thread's arrays that are the same for all threads
        self._uniform = self._seen()
        while apart := [name for name in self._alike if not self._is_filled_alike(name)]:
            for name in apart:
                del self._alike[name]
            self._uniform = self._seen()

    def _seen(self) -> Uniformity:
        return Uniformity(self._names, self._names.source.declarator, self._alike, axes=self._axis)

    def _is_filled_alike(self, name: str) -> bool:
        """Whether all that is ever done to its elements is to set them, to what is the same for all threads."""
        body, source = self._names.source.body, self._names.source
        changes = [c for c in of_kind(body, "assignment_expression") if base_name(field(c, "left")) == name]
        others = [c for c in of_kind(body, "update_expression", "pointer_expression") if name in identifiers(c)]
        others += [c for c in of_kind(body, "call_expression") if name in identifiers(c) and not is_pure_call(c, source)]
        plain = all(text_of(field(c, "operator")) == "=" and self.is_uniform(c) for c in changes)
        return plain and not others

    def is_around_common_loops(self, node: Node) -> bool:
        if node.type == "for_statement":
            return self.is_common_loop(node)
        if node.type != "if_statement" or self.is_uniform(field(node, "condition")):
            return node.type == "if_statement"
        inner = any(self.is_common_loop(loop) for loop in of_kind(node, "for_statement"))
        return inner and node.child_by_field_name("alternative") is None and not self._jumps(node)

    def is_uniform(self, node: Node) -> bool:
        return self._uniform.own_name(node) is None

    def is_common_variable(self, declarator: Node) -> bool:
        """Whether it is the same for all of the threads, and stays what it is."""
        name = next(of_kind(declarator, "identifier"))
        if self._alike.get(text_of(name)) == declarator:
            return True
        if declarator.type != "init_declarator" or self._names.is_assigned(text_of(name), scope_of(declarator)):
            return False
        plain = not any(True for _ in of_kind(declarator, "reference_declarator", "array_declarator"))
        return plain and self.is_uniform(field(declarator, "value"))

    def is_common_loop(self, loop: Node) -> bool:
        parts = header_of(loop)
        declares = bool(parts) and parts[0].type == "declaration"
        return declares and all(map(self.is_uniform, parts)) and not self._jumps(field(loop, "body"))

    def _jumps(self, within: Node) -> bool:
        """Whether steps of a loop around it may end early."""
        return any(not is_in_inner_loop(jump, within) for jump in of_kind(within, "break_statement", "continue_statement"))

    def left_by_some(self, node: Node) -> Node | None:
        """Of `if (row >= rows) return;` the condition, where it differs between the threads."""
        if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
            return None
        inner = field(node, "consequence")
        statements = inner.named_children if inner.type == "compound_statement" else [inner]
        condition = field(node, "condition")
        leaves = len(statements) == 1 and statements[0].type == "return_statement"
        return condition if leaves and not self.is_uniform(condition) else None

    def is_load_shared(self, node: Node) -> bool:
        """Whether in a loop with the same steps for all, an element is loaded that all need, for what each does by itself."""
        around = list(ancestors(node))
        if not any(a.type == "for_statement" and self.is_common_loop(a) for a in around) or any(map(self._is_for_one, around)):
            return False
        loads = [n for n in of_kind(node, "subscript_expression") if _is_load(n)]
        same = [n for n in loads if self._is_same_element(n) and any(map(identifiers, subscripts_of(n)[0]))]
        return bool(same) and not self.is_uniform(node)

    def _is_for_one(self, node: Node) -> bool:
        """`if (threadIdx.x == 0)`"""
        condition = field(node, "condition") if node.type == "if_statement" else None
        return condition is not None and "==" in text_of(condition) and not self.is_uniform(condition)

    def _is_same_element(self, element: Node) -> bool:
        indices, base = subscripts_of(element)
        found = self._names.definition(base) if base.type == "identifier" else None
        declared = found.node.parent if found is not None and found.node is not None else None
        is_tile = declared is not None and is_shared(declared, self._names.source)
        return all(map(self.is_uniform, indices)) and (is_tile or self.is_uniform(base))


def scope_of(declarator: Node) -> Node:
    return next(a for a in ancestors(declarator) if a.type == "compound_statement")


def _is_load(node: Node) -> bool:
    """An element that is read: the whole of `tile[i][j]`, and not where something is put."""
    parent = node.parent
    if parent is None or (parent.type == "subscript_expression" and field(parent, "argument") == node):
        return False
    return not (parent.type == "assignment_expression" and field(parent, "left") == node)
