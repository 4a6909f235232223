"""Follows names in host code to the variables and numbers they derive from.

A variable with a literal value stays a root (`HostOrigin` knows the number): `facts` decides whether it becomes a workload size
or that number. Computed variables are expanded. A value known only at run time is a root without a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.spec.declarations import text_of
from warpsmith.spec.host.expressions import Expressions, HostFrame, converted, is_extents
from warpsmith.spec.host.index import HostChange, HostVariable, Index, arguments_of, called, parameters_of
from warpsmith.spec.host.terms import Root, SizeTerm, chosen, is_a, replaced, roots, total

if TYPE_CHECKING:
    from tree_sitter import Node

_INPUT = re.compile(r"\bargv\b|\b(?:atoi|atol|atoll|strtol|strtoul|strtoull|stoi|stol|stoul|getenv|scanf)\b")
_AXES = "xyz"
_ONE_MORE = re.compile(r"\+\+\s*\w+|\w+\s*(?:\+\+|\+=\s*1)")
_ELSEWHERE = -1  # the place of what is not declared in this file


@dataclass(frozen=True, slots=True)
class HostOrigin:
    """`changed_line` is where the variable is assigned again; `is_global`: file scope, so kernels may use it."""

    line: int
    value: int | None = None
    changed_line: int | None = None
    is_global: bool = False


class Follower(Expressions):
    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self.origins: dict[Root, HostOrigin] = {}
        self._followed: dict[Root, SizeTerm | None] = {}
        self._known_extents: dict[HostVariable, list[SizeTerm | None] | None] = {}

    def value_of(self, term: SizeTerm) -> int | None:
        """The number with all roots at their own numbers."""
        known = {root: origin.value for root, origin in self.origins.items() if origin.value is not None}
        found = replaced(term, known)
        return found if isinstance(found, int) else None

    def variable(self, name: str, frame: HostFrame) -> HostVariable | None:
        declared = self.index.declared(name, frame.place)
        function = self.index.function_at(frame.place)
        if function is not None and (declared is None or declared.place < function.start_byte):
            declared = next((p for p in parameters_of(function) if p.name == name), declared)
        return declared

    def passed(self, parameter: HostVariable) -> tuple[Node, HostFrame] | None:
        """The argument of the only call of a function for its parameter."""
        function = self.index.function_at(parameter.place)
        calls = self.index.calls_of(function) if function is not None else []
        if function is None or len(calls) != 1:
            return None
        number = [p.place for p in parameters_of(function)].index(parameter.place)
        given = arguments_of(calls[0])
        return (given[number], HostFrame(calls[0].start_byte)) if number < len(given) else None

    def is_parameter(self, variable: HostVariable) -> bool:
        function = self.index.function_at(variable.place)
        return function is not None and any(p.place == variable.place for p in parameters_of(function))

    def named(self, name: str, frame: HostFrame) -> SizeTerm | None:
        if name in frame.bindings:
            return frame.bindings[name]
        variable = self.variable(name, frame)
        if variable is not None:
            return self._of_variable(variable)
        macro = self.index.macros.get(name)
        if macro is None or macro.parameters is not None:
            # A member of the enclosing class, or of a header: treated as a variable, unless the kernel is instantiated with it.
            is_open = macro is None and name not in self.index.device_words and name.isidentifier()
            return (
                self._root(HostVariable(name, "", 0, _ELSEWHERE), HostOrigin(self.index.line(frame.place))) if is_open else None
            )
        value = self.term(macro.body, HostFrame(macro.place))
        if not isinstance(value, int):
            return value
        origin = HostOrigin(self.index.line(macro.place), value, is_global=True)
        return self._root(HostVariable(name, "", 0, macro.place), origin)

    def _of_variable(self, variable: HostVariable) -> SizeTerm | None:
        own = Root(variable.name, variable.place)
        if own not in self._followed:
            # Until it is known it stands for itself: definitions may be circular (`blocks = n / 256; n = blocks;`).
            self._followed[own] = self._root(variable, HostOrigin(self.index.line(variable.place)))
            found = self._definition(variable)
            is_circular = found is not None and found != own and own in roots(found)
            self._followed[own] = self._root(variable, HostOrigin(self.index.line(variable.place))) if is_circular else found
        return self._followed[own]

    def _definition(self, variable: HostVariable) -> SizeTerm | None:
        if variable.depth or variable.type == "dim3":
            return None
        known = self.type_of(variable.type)
        if variable.type != "auto" and (known is None or known.lanes > 1):
            return None
        if self.is_parameter(variable):
            return self._of_parameter(variable)
        is_global = self.index.function_at(variable.place) is None
        changes = [] if variable.is_const else self.index.changes(variable)
        inputs = [c for c in changes if c.value is not None and _INPUT.search(text_of(c.value))]
        others = [c for c in changes if c not in inputs]
        written: list[tuple[Node, int]] = [(node, variable.place) for node in variable.values[:1]]
        if not written and len(others) == 1 and others[0].value is not None:
            written, others = [(others[0].value, others[0].place)], []
        value = self._initial(*written[0]) if written else None
        if value is not None and known is not None:
            value = converted(value, is_float=known.dtype.is_float)
        if value is not None and is_a(value, "/") and len(others) == 1 and (more := self._one_more(others[0])) is not None:
            value, others = total(value, more), []
        if value is not None and not isinstance(value, int) and not others and not inputs:
            return value
        if known is not None and known.dtype.is_float:
            return None
        number = self.value_of(value) if value is not None else None
        changed = self.index.line(others[0].place) if others else None
        return self._root(variable, HostOrigin(self.index.line(variable.place), number, changed, is_global))

    def _one_more(self, change: HostChange) -> SizeTerm | None:
        """The increment of `n / t` blocks by `if (n % t) ++blocks;`."""
        node = self.index.declarations.root.descendant_for_byte_range(change.place, change.place + 1)
        while node is not None and node.type not in {"update_expression", "assignment_expression"}:
            node = node.parent
        if node is None or not _ONE_MORE.fullmatch(text_of(node)):
            return None
        while node is not None and node.type not in {"if_statement", "for_statement", "while_statement", "function_definition"}:
            node = node.parent
        clause = node.child_by_field_name("condition") if node is not None and node.type == "if_statement" else None
        if node is None or clause is None or node.child_by_field_name("alternative") is not None:
            return None
        asked = clause.child_by_field_name("value")
        condition = self.whole(asked, HostFrame(node.start_byte)) if asked is not None else None
        return chosen(condition, 1, 0) if condition is not None else None

    def _of_parameter(self, variable: HostVariable) -> SizeTerm | None:
        """The argument of the only call, if the function does not change the parameter."""
        source = self.passed(variable)
        value = self.whole(*source) if source is not None else None
        changes = self.index.changes(variable)
        if value is not None and not isinstance(value, int) and not changes:
            return value
        number = self.value_of(value) if value is not None else None
        changed = self.index.line(changes[0].place) if changes else None
        place = source[1].place if source is not None and number is not None else variable.place
        return self._root(variable, HostOrigin(self.index.line(place), number, changed))

    def length_of(self, vector: HostVariable) -> SizeTerm | None:
        """Number of elements of a `vector<T> v(n)`; a literal number is named after the vector."""
        if "vector" not in vector.type or not vector.is_list or not vector.values:
            return None
        found = self.whole(vector.values[0], HostFrame(vector.place))
        return self._root(vector, HostOrigin(self.index.line(vector.place), found)) if isinstance(found, int) else found

    def member_of(self, owner: HostVariable, name: str) -> SizeTerm | None:
        """`matrix.rows`: a variable of its own."""
        changes = [c for c in self.index.changes(owner) if c.part == name]
        value = self.whole(changes[0].value, HostFrame(changes[0].place)) if len(changes) == 1 and changes[0].value else None
        if value is not None and not isinstance(value, int):
            return value
        changed = self.index.line(changes[1].place) if len(changes) > 1 else None
        return self._root(HostVariable(name, "", 0, owner.place), HostOrigin(self.index.line(owner.place), value, changed))

    def _initial(self, node: Node, place: int) -> SizeTerm | None:
        """The part of `argc > 1 ? atoi(argv[1]) : 1024` that is not read from the command line."""
        if node.type == "conditional_expression" and _INPUT.search(text_of(node)):
            parts = [node.child_by_field_name(key) for key in ("consequence", "alternative")]
            plain = [part for part in parts if part is not None and not _INPUT.search(text_of(part))]
            found = self.term(plain[0], HostFrame(place)) if len(plain) == 1 else None
            return self.value_of(found) if found is not None else None
        return self.term(node, HostFrame(place))

    def _root(self, variable: HostVariable, origin: HostOrigin) -> Root:
        root = Root(variable.name, variable.place)
        self.origins[root] = origin
        return root

    # ── dim3 ──

    def extents(self, node: Node, frame: HostFrame) -> list[SizeTerm | None] | None:
        while node.type == "parenthesized_expression" and len(node.named_children) == 1:
            node = node.named_children[0]
        if node.type == "call_expression" and called(node)[0] == "dim3":
            given = arguments_of(node)
            if len(given) == 1 and given[0].type in {"identifier", "call_expression"}:
                return self.extents(given[0], frame)
            return self._three(given, frame)
        if node.type == "compound_literal_expression" and text_of(node).startswith("dim3"):
            node = node.named_children[-1]  # `dim3{16, 16}`
        if node.type == "initializer_list":
            return self._three([c for c in node.named_children if c.type != "comment"], frame)
        variable = self.variable(text_of(node), frame) if node.type == "identifier" else None
        if variable is None or not is_extents(variable):
            return self._three([node], frame)
        if variable not in self._known_extents:
            self._known_extents[variable] = None  # for a function that passes its own grid on to itself
            self._known_extents[variable] = self._extents_of(variable)
        found = self._known_extents[variable]
        return list(found) if found is not None else None

    def _extents_of(self, variable: HostVariable) -> list[SizeTerm | None] | None:
        if self.is_parameter(variable):
            source = self.passed(variable)
            return self.extents(*source) if source is not None else None
        changes = self.index.changes(variable)
        wholes = [c for c in changes if c.part is None]
        if variable.is_unclear or not (variable.values or changes):
            return None
        values, is_list, place = variable.values, variable.is_list, variable.place
        if not values and len(wholes) == 1 and wholes[0].value is not None:
            values, is_list, place = (wholes[0].value,), False, wholes[0].place
            wholes = []
        if wholes:
            return None
        found: list[SizeTerm | None] | None = [1, 1, 1]
        if values:
            frame = HostFrame(place)
            found = self._three(values, frame) if is_list and len(values) > 1 else self.extents(values[0], frame)
        for axis, letter in enumerate(_AXES if found is not None else ""):
            assert found is not None
            parts = [c for c in changes if c.part == letter]
            if parts:
                value = parts[0].value
                # A variable that had a number before may still have it: the change can be under an `if`.
                is_only = len(parts) == 1 and not values
                found[axis] = self.whole(value, HostFrame(parts[0].place)) if is_only and value is not None else None
        return found

    def _three(self, nodes: Sequence[Node], frame: HostFrame) -> list[SizeTerm | None] | None:
        return [*(self.whole(node, frame) for node in nodes), 1, 1, 1][:3] if nodes else [1, 1, 1]
