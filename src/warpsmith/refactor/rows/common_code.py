"""What is the same for all threads of a block, and does nothing for each of them: questions about single expressions.

For `one_each`, which knows what variables hold at each point and says so by their names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.source import Names
from warpsmith.source.dataflow import changed_names, is_pure_call
from warpsmith.source.effects import may_change
from warpsmith.source.redundant_barriers import is_barrier
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import launch_uses, teamwork
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped, walk
from warpsmith.source.uniform import Uniformity
from warpsmith.source.whole_block import reduction_in, whole_reductions

if TYPE_CHECKING:
    from tree_sitter import Node

_CHANGES = frozenset({"assignment_expression", "update_expression"})
_NEVER = frozenset({"new_expression", "delete_expression", "gnu_asm_expression", "lambda_expression"})


class CommonCode:
    """Raises Unmet where threads meet, or ask for who they are, in ways that are not looked into."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.reductions = whole_reductions(names.source)
        self._own = self._functions_of_reductions()
        source, together = names.source, teamwork(names.source)
        require(not together.library and not together.waits and not together.lanes, f"the kernel {together.described()}")
        for call in (*together.exchanges, *together.barriers):
            statement = call.parent
            plain = statement is not None and is_barrier(statement) and is_within(call, source.body)
            known = plain or any(is_within(call, function) for function in self._own)
            require(known, "threads exchange values by more than recognised block reductions", call)
        for body in source.reached():
            if any(is_within(body, function) for function in self._own):
                continue
            for name, uses in launch_uses(body, names).items():
                asks = name.startswith("blockDim") or (name.startswith("threadIdx") and body != source.body)
                require(not asks, f"{name} is used outside block reductions", uses[0])
        changed = next((p.name for p in source.parameters if names.is_assigned(p.name, source.body)), None)
        require(changed is None, f"the parameter {changed} is changed")

    def _functions_of_reductions(self) -> list[Node]:
        source = self.names.source
        called = {r.warp_call.partition("<")[0] for r in self.reductions.values()}
        called |= {name for r in self.reductions.values() for name in re.findall(r"return\s+(\w+)", r.otherwise)}
        return [r.function for r in self.reductions.values()] + [f for name in called for f in source.functions(name)]

    def apart(self, node: Node, common: Collection[str]) -> str | None:
        """A name that may differ from thread to thread, but for those known to be common."""
        return Uniformity(self.names, node, common).own_name(node)

    def is_plain(self, node: Node, *, changes: bool = False) -> bool:
        """Whether it only computes: done by fewer threads, it is done as well."""
        for part in walk(node):
            if part.type in _NEVER or (part.type in _CHANGES and not changes):
                return False
            known = part.type != "call_expression" or reduction_in(part, self.reductions) or is_pure_call(part, self.names.source)
            if not known:
                return False
        return True

    def changes(self, name: str, declarator: Node) -> bool:
        """Whether the variable is ever changed after its declaration; of a pointer, the pointer itself."""
        scope = next(a for a in ancestors(declarator) if a.type == "compound_statement")
        if _points(declarator):
            return may_change(name, scope, self.names)
        return name in changed_names(scope, self.names.source)

    def kind(self, declarator: Node) -> str:
        """The type that a variable is declared with, without qualifiers; a template's argument for its parameter."""
        words = (
            [c for c in declarator.parent.children if c.end_byte <= declarator.start_byte]
            if declarator.parent is not None
            else []
        )
        plain = [text_of(c) for c in words if c.type not in {"type_qualifier", "storage_class_specifier", ","}]
        text = " ".join(" ".join(plain[:1]).split())
        direct = field(declarator, "declarator") if declarator.type == "init_declarator" else declarator
        return self.names.source.bindings.get(text, text) if direct.type == "identifier" else direct.type

    def is_static(self, declarator: Node) -> bool:
        words = declarator.parent.children if declarator.parent is not None else []
        return any(c.type == "storage_class_specifier" and text_of(c) in {"static", "extern"} for c in words)

    def declared(self, name: str) -> Iterator[Node]:
        """The declarators of variables of that name in the kernel."""
        for node in of_kind(self.names.source.body, "declaration"):
            for index, child in enumerate(node.children):
                is_one = node.field_name_for_child(index) == "declarator" and any(True for _ in of_kind(child, "identifier"))
                if is_one and text_of(next(of_kind(child, "identifier"))) == name:
                    yield child

    def is_pointer(self, name: str, within: Node) -> bool:
        """Whether what is changed inside is what it points to, and not the variable."""
        return all(map(_points, self.declared(name))) and not may_change(name, within, self.names)

    def declared_at(self, use: Node) -> int | None:
        found = self.names.definition(use)
        return found.node.start_byte if found.origin is Origin.LOCAL and found.node is not None else None

    def is_thread(self, name: Node) -> bool:
        """The `threadIdx` of `threadIdx.x`."""
        return name.parent is not None and self.names.builtin(name.parent) == "threadIdx.x"

    def is_first_thread(self, node: Node) -> bool:
        """`if (threadIdx.x == 0)` without an else."""
        if node.child_by_field_name("alternative") is not None:
            return False
        inner = field(node, "condition")
        condition = unwrapped(field(inner, "value") if inner.type == "condition_clause" else inner)
        if condition.type != "binary_expression" or text_of(field(condition, "operator")) != "==":
            return False
        left, right = field(condition, "left"), field(condition, "right")
        return any(self._is_index(one) and self.names.value(other) == 0 for one, other in ((left, right), (right, left)))

    def _is_index(self, node: Node) -> bool:
        node = unwrapped(node)
        if self.names.builtin(node) == "threadIdx.x":
            return True
        found = self.names.definition(node) if node.type == "identifier" else None
        return found is not None and found.is_fixed and found.value is not None and self._is_index(found.value)

    def first_terms(self, name: str, body: Node) -> list[Node]:
        """Of `sum = x * x;`, at the beginning of what is added to a sum: the sign. Empty where it is used for more than that."""
        uses = [n for n in of_kind(body, "identifier") if text_of(n) == name]
        statements = body.named_children if body.type == "compound_statement" else [body]
        signs: list[Node] = []
        for number, use in enumerate(uses):
            change = use.parent
            if change is None or change.type != "assignment_expression" or field(change, "left") != use:
                return []
            sign = field(change, "operator")
            if text_of(sign) == "=" and number == 0 and change.parent in statements:
                signs.append(sign)
            elif text_of(sign) != "+=":
                return []
        return signs


def _points(declarator: Node) -> bool:
    direct = field(declarator, "declarator") if declarator.type == "init_declarator" else declarator
    return direct.type == "pointer_declarator"
