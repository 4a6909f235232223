"""A variable's value at the place where it is used, though it changes later on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.source.names import Definition, Names
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


class ReachingNames(Names):
    """Names that also know a variable's value where it is used, though it changes later: `int x = …; use(x); x = …; use(x);`."""

    def definition(self, use: Node) -> Definition:
        found = super().definition(use)
        declared = self.source.scopes.declaration(found.name, use)
        if found.is_fixed or found.origin is not Origin.LOCAL or declared is None:
            return found
        changes = list(self.assignments(found.name, declared.scope))
        loops = [a for a in ancestors(use) if a.type in LOOPS and is_within(a, declared.scope) and a != declared.scope]
        if any(is_within(change, loop) for change in changes for loop in loops):
            return found
        before = [c for c in changes if c.end_byte <= use.start_byte]
        value = found.value if not before else _plain_value(before[-1], declared.scope)
        return found if value is None else Definition(found.name, Origin.LOCAL, found.node, value, is_fixed=True)


def _plain_value(change: Node, scope: Node) -> Node | None:
    """Of a statement `name = value;` that stands in the scope itself, so that it is always reached."""
    statement = change.parent
    direct = statement is not None and statement.type == "expression_statement" and statement.parent == scope
    plain = change.type == "assignment_expression" and text_of(field(change, "operator")) == "="
    return field(change, "right") if direct and plain else None
