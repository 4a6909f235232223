"""Loops over a thread's own share of a tile: whether their work depends on the thread only through the column it is done for.

`t * K + j` names a column. If everything that loops over j do follows from the column and from arrays of the thread indexed by j,
then another way of dealing columns out to (t, j) does the same work, in other threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.source.access_paths import is_own_array, place_of
from warpsmith.source.dataflow import base_name, is_pure
from warpsmith.source.loops import Loop
from warpsmith.source.names import Definition, Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import BRANCHES, ancestors, condition_of, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_Dimension: TypeAlias = tuple[int, int]  # where an array is declared, and which of its dimensions
_CONDITIONS = BRANCHES | {"conditional_expression"}


class ColumnWork:
    """`owners` are the loops in which `firsts`, the terms `t * K`, stand. Loops over the same arrays belong to them too."""

    def __init__(self, names: Names, loops: Sequence[Loop], owners: Sequence[Loop], firsts: Sequence[Node]) -> None:
        self._names, self._loops, self._firsts = names, loops, firsts
        self._group = list(owners)
        self._tied: set[_Dimension] = set()
        self._gather()

    def objection(self, thread: str) -> str | None:
        """What keeps the columns from being distributed another way, in words."""
        checks = (self._loop_objection(loop) for loop in self._group)
        return next((c for c in checks if c is not None), None) or self._array_objection() or self._thread_objection(thread)

    def _gather(self) -> None:
        while True:
            before = (len(self._group), len(self._tied))
            for loop in self._group:
                self._tied |= {d for use in self._uses(loop) if (d := self._dimension(use)) is not None}
            for loop in self._loops:
                if loop not in self._group and any(self._dimension(use) in self._tied for use in self._uses(loop)):
                    self._group.append(loop)
            if before == (len(self._group), len(self._tied)):
                return

    def _uses(self, loop: Loop) -> Iterator[Node]:
        for node in of_kind(loop.body, "identifier"):
            if text_of(node) == loop.variable and Polynomial.of(node, self._names) == Polynomial.atom(loop.atom):
                yield node

    def _dimension(self, use: Node) -> _Dimension | None:
        """The array's dimension that the identifier alone indexes, when the array is the thread's own."""
        access = use.parent.parent if use.parent is not None and use.parent.type == "subscript_argument_list" else None
        if access is None or access.type != "subscript_expression":
            return None
        array, depth = unwrapped(field(access, "argument")), 0
        while array.type == "subscript_expression":
            array, depth = unwrapped(field(array, "argument")), depth + 1
        if not is_own_array(array, self._names):
            return None
        declarator = self._names.definition(array).node
        declaration = declarator.parent if declarator is not None else None
        if declarator is None or declaration is None or is_shared(declaration, self._names.source):
            return None
        return declarator.start_byte, depth

    def _loop_objection(self, loop: Loop) -> str | None:
        name, names = loop.variable, self._names
        if Polynomial.of(loop.bound, names) != Polynomial.of(self._group[0].bound, names):
            return f"an array of the thread's columns is also indexed by {name}, whose range differs"
        for use in self._uses(loop):
            in_column = any(is_within(first, s) and is_within(use, s) for first in self._firsts for s in self._sums_around(use))
            if self._dimension(use) is None and not in_column:
                return f"{name} is used for more than a column index and per-thread arrays (line {names.source.line_of(use)})"
        for node in of_kind(loop.body, "assignment_expression", "update_expression"):
            target = unwrapped(field(node, "left" if node.type == "assignment_expression" else "argument"))
            if not self._is_of_column(target, loop):
                return f"line {names.source.line_of(node)} changes a value that other columns share"
        if any(not is_pure(call, names.source) for call in of_kind(loop.body, "call_expression")):
            return f"the loop over {name} calls a function that is not analysed"
        return None

    def _sums_around(self, use: Node) -> Iterator[Node]:
        for node in ancestors(use):
            if node.type not in {"binary_expression", "parenthesized_expression"}:
                return
            yield node

    def _is_of_column(self, target: Node, loop: Loop) -> bool:
        """A variable of the step itself, an element of the thread's array at j, or memory at a place that follows the column."""
        inside = {text_of(n) for n in of_kind(target, "identifier")}
        if place_of(target, self._names) is not None or self._is_shared_array(target):
            derived = self._derived(loop)
            return any(is_within(first, target) for first in self._firsts) or not derived.isdisjoint(inside)
        definition = self._definition_of_base(target)
        if definition is not None and definition.node is not None and is_within(definition.node, loop.body):
            return True
        return any(self._dimension(n) in self._tied for n in of_kind(target, "identifier") if text_of(n) == loop.variable)

    def _is_shared_array(self, target: Node) -> bool:
        definition = self._definition_of_base(target)
        declaration = definition.node.parent if definition is not None and definition.node is not None else None
        return declaration is not None and declaration.type == "declaration" and is_shared(declaration, self._names.source)

    def _derived(self, loop: Loop) -> set[str]:
        """Names declared in a step whose values follow the column."""
        found: set[str] = set()
        for node in of_kind(loop.body, "init_declarator"):
            value = field(node, "value")
            if any(is_within(first, value) for first in self._firsts) or found & {
                text_of(n) for n in of_kind(value, "identifier")
            }:
                found |= {text_of(n) for n in of_kind(field(node, "declarator"), "identifier")}
        return found

    def _array_objection(self) -> str | None:
        """Every use of an array of columns must be by one of the loops, in that dimension."""
        variables = {loop.atom for loop in self._group}
        for declared, depth in self._tied:
            for node in of_kind(self._names.source.body, "identifier"):
                definition = self._names.definition(node)
                if definition.node is None or definition.node.start_byte != declared or is_within(node, definition.node):
                    continue
                access: Node | None = node.parent
                for _ in range(depth):
                    access = access.parent if access is not None and access.type == "subscript_expression" else None
                indices = access.child_by_field_name("indices") if access is not None else None
                index = indices.named_children[0] if indices is not None else None
                if index is None or str(Polynomial.of(index, self._names)) not in variables:
                    return f"line {self._names.source.line_of(node)} uses {text_of(node)} other than column by column"
        return None

    def _thread_objection(self, thread: str) -> str | None:
        """Nothing else that tells threads apart may reach these loops."""
        told = self._telling(thread)
        for loop in self._group:
            around = [loop.node, *(a for a in ancestors(loop.node) if a.type in _CONDITIONS)]
            parts = [
                p for a in around[1:] for n in ("condition", "initializer", "update", "right") if (p := a.child_by_field_name(n))
            ]
            for part in (loop.body, loop.bound, *parts):
                if self._tells(part, thread, told):
                    return f"the loop over {loop.variable} depends on {thread} other than by the column index"
        for node in of_kind(self._names.source.body, "return_statement", "break_statement", "continue_statement"):
            if any(self._tells(c, thread, told) for c in _conditions_around(node)):
                return f"threads return early depending on {thread} (line {self._names.source.line_of(node)})"
        return None

    def _telling(self, thread: str) -> set[int]:
        """Where the thread's own variables are declared that differ along the axis other than through a column."""
        told: set[int] = set()
        while True:
            before = len(told)
            for node in of_kind(self._names.source.body, "init_declarator", "assignment_expression"):
                declared = self._declared_at(node)
                value = field(node, "value" if node.type == "init_declarator" else "right")
                parts = (value, *_conditions_around(node))
                if declared is not None and any(self._tells(part, thread, told) for part in parts):
                    told.add(declared)
            if len(told) == before:
                return told

    def _declared_at(self, node: Node) -> int | None:
        """Where the variable is declared that a declaration or an assignment gives its value; None for memory: it is nobody's."""
        if node.type == "init_declarator":
            return node.start_byte
        target = unwrapped(field(node, "left"))
        if place_of(target, self._names) is not None or self._is_shared_array(target):
            return None
        definition = self._definition_of_base(target)
        return definition.node.start_byte if definition is not None and definition.node is not None else None

    def _definition_of_base(self, target: Node) -> Definition | None:
        base = next((n for n in of_kind(target, "identifier") if text_of(n) == base_name(target)), None)
        return self._names.definition(base) if base is not None else None

    def _tells(self, node: Node, thread: str, told: set[int]) -> bool:
        for part in walk(node):
            if any(is_within(part, first) for first in self._firsts):
                continue
            if self._names.builtin(part) == thread:
                return True
            declared = self._names.definition(part).node if part.type == "identifier" else None
            if declared is not None and declared.start_byte in told:
                return True
        return False


def _conditions_around(node: Node) -> list[Node]:
    return [c for a in ancestors(node) if a.type in _CONDITIONS and (c := condition_of(a) or a.child_by_field_name("condition"))]
