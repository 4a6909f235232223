"""What assignments make of a script's names, and of the lists, dictionaries and arrays that they change.

A whole number that a name is given becomes a root: what is computed from it stays an expression over that name.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from warpsmith.spec.host.terms import Root
from warpsmith.spec.kernel_tuner.python.expressions import ScriptExpressions
from warpsmith.spec.kernel_tuner.python.functions import MAX_ITEMS, items_of
from warpsmith.spec.kernel_tuner.python.operators import binary
from warpsmith.spec.kernel_tuner.python.values import (
    ArrayFill,
    Listed,
    ScriptArray,
    ScriptNumber,
    ScriptScope,
    ScriptTable,
    ScriptValue,
    Unknown,
)

_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class ScriptOrigin:
    """Of a root: its number, and where it is from."""

    value: int
    line: int


class Assignments(ScriptExpressions):
    """`conditions` are the lines of the branches around, whose conditions only a run knows."""

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[Root, ScriptOrigin] = {}
        self.conditions: list[int] = []

    def is_own(self, node: ast.expr, scope: ScriptScope) -> bool:
        """Whether a number is the script's own: not one out of a dictionary, such as the largest value of a parameter."""
        names = (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        return not any(isinstance(scope.find(name), ScriptTable) for name in names)

    def assign(self, target: ast.expr, value: ScriptValue, scope: ScriptScope, *, is_own: bool = True) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = self.rooted(name, value, target.lineno) if is_own else value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = items_of(value)
                is_known = items is not None and len(items) == len(parts)
                for place, part in enumerate(parts):
                    self.assign(part, items[place] if items is not None and is_known else Unknown(target.lineno), scope)
            case ast.Subscript(value=owner_node, slice=key_node):
                self._set(owner_node, self.of(key_node, scope), value, scope, target.lineno)
            case _:
                pass

    def _set(self, owner_node: ast.expr, key: ScriptValue, value: ScriptValue, scope: ScriptScope, line: int) -> None:
        match self.of(owner_node, scope), key:
            case ScriptTable() as table, str() if self.conditions and key in table.entries:
                table.unsure[key] = self.conditions[0]  # what it is without the condition stays
            case ScriptTable() as table, str():
                table.entries[key] = value
                table.lines[key] = line
                if self.conditions:
                    table.unsure[key] = self.conditions[0]
            case ScriptTable() as table, _:
                table.missing.append(line)
            case Listed(items=items), ScriptNumber(value=int(place)) if -len(items) <= place < len(items):
                items[place] = value
            case ScriptArray() as array, _ if isinstance(owner_node, ast.Name):
                # Some elements are given other values.
                self.changed_array(owner_node.id, array, replace(array, fill=ArrayFill(), line=line), scope)
            case _:
                pass

    def changed_array(self, name: str, before: ScriptArray, after: ScriptArray, scope: ScriptScope) -> None:
        """An array changed in place: lists that have it see it too."""
        found: ScriptScope | None = scope
        while found is not None:
            if name in found.names:
                found.names[name] = after
            for value in found.names.values():
                if isinstance(value, Listed):
                    value.items[:] = [after if item is before else item for item in value.items]
            found = found.outer

    def augment(self, target: ast.expr, sign: ast.operator, value: ScriptValue, scope: ScriptScope) -> None:
        if not isinstance(target, ast.Name | ast.Subscript):
            return
        before = self.of(target, scope)
        match before, value:
            case Listed(items=items), _ if isinstance(sign, ast.Add):
                items.extend((items_of(value) or [Unknown(target.lineno)])[: MAX_ITEMS - len(items)])
            case ScriptTable() as table, ScriptTable():
                table.take(value)
            case _:
                self.assign(target, binary(before, sign, value, target.lineno), scope)

    def delete(self, target: ast.expr, scope: ScriptScope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names.pop(name, None)
            case ast.Subscript(value=owner, slice=key_node):
                table, key = self.of(owner, scope), self.of(key_node, scope)
                if isinstance(table, ScriptTable) and isinstance(key, str):
                    table.entries.pop(key, None)
            case _:
                pass

    def rooted(self, name: str, value: ScriptValue, line: int) -> ScriptValue:
        """Plain whole numbers are named after the variable that has them; those of a tuple after their axis."""
        match value:
            case ScriptNumber(value=int(number), term=int()) if value.is_whole and number >= 0:
                root = Root(name, line)
                self.origins[root] = ScriptOrigin(number, line)
                return replace(value, term=root)
            case Listed(items=items) if 1 < len(items) <= len(_AXES) and all(isinstance(i, ScriptNumber) for i in items):
                value.items[:] = [self.rooted(f"{name}_{axis}", item, line) for axis, item in zip(_AXES, items, strict=False)]
                return value
            case _:
                return value
