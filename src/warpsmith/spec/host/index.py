"""Index of a file's host code: functions, their declarations, assignments and calls, and macros.

Names are looked up as in C++ (`declared`): the nearest enclosing block, before the position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.spec.declarations import Declarations, declared_name, expression_nodes, first, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = frozenset({"compound_statement", "for_statement", "function_definition", "namespace_definition", "translation_unit"})
_CHANGING = ("assignment_expression", "update_expression", "binary_expression", "pointer_expression", "call_expression")
_INPUT_STREAM = re.compile(r"(?:std::)?cin\s*>>")
# A parenthesised name at the beginning of a sum looks like a cast to the grammar; a macro's own parentheses hold nothing else.
_BRACKETED_NAME = re.compile(r"(?<![\w>])\(\s*(\w+)\s*\)")


@dataclass(frozen=True, slots=True)
class HostVariable:
    """`values` are the declaration's initialisers, in parentheses or after `=`."""

    name: str
    type: str
    depth: int
    place: int
    values: tuple[Node, ...] = ()
    is_const: bool = False
    is_list: bool = False  # the values are a constructor's, or of an initialiser list
    is_unclear: bool = False  # declared more than once


@dataclass(frozen=True, slots=True)
class HostChange:
    """`value` is None if it is not a plain assignment: `n /= 2`, `++n`, `scanf("%d", &n)`. `part` is the `x` of `grid.x`."""

    name: str
    part: str | None
    value: Node | None
    place: int


@dataclass(frozen=True, slots=True)
class HostMacro:
    parameters: tuple[str, ...] | None
    body: Node
    place: int


class Index:
    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations

    def line(self, place: int) -> int:
        return self.declarations.line_at(place)

    @cached_property
    def calls(self) -> list[Node]:
        return self._of_kind("call_expression")

    @cached_property
    def functions(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self._of_kind("function_definition"):
            declarator = first(node, "function_declarator")
            if declarator is not None and (name := declarator.child_by_field_name("declarator")) is not None:
                found.setdefault(text_of(name).rsplit("::", 1)[-1], []).append(node)
        return found

    @cached_property
    def macros(self) -> dict[str, HostMacro | None]:
        """None where a name is defined in several ways."""
        found: dict[str, HostMacro | None] = {}
        texts: dict[str, str] = {}
        for node in self._of_kind("preproc_def", "preproc_function_def"):
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is None or value is None:
                continue
            text = text_of(value).replace("\\\n", " ").strip()
            listed = node.child_by_field_name("parameters")
            parameters = None if listed is None else tuple(text_of(child) for child in listed.named_children)
            bodies = expression_nodes(_BRACKETED_NAME.sub(r" \1 ", text) if parameters is not None else text)
            is_other = texts.setdefault(text_of(name), text) != text
            found[text_of(name)] = None if is_other or len(bodies) != 1 else HostMacro(parameters, bodies[0], node.start_byte)
        return found

    @cached_property
    def device_words(self) -> frozenset[str]:
        """Every name in device code, except its own parameters."""
        found: set[str] = set()
        for node in self._of_kind("function_definition"):
            if any(c.type in {"__global__", "__device__"} for c in node.children):
                parameters = {v.name for v in parameters_of(node)}
                found |= {text_of(n) for n in walk(node) if n.type in {"identifier", "type_identifier"}} - parameters
        for macro in (macro for name, macro in self.macros.items() if name in found and macro is not None):
            found |= {text_of(n) for n in walk(macro.body) if n.type == "identifier"}
        return frozenset(found)

    def declared(self, name: str, place: int) -> HostVariable | None:
        """The variable that a name refers to at a position; parameters of functions are in `parameters_of`."""
        visible = [(v, block) for v, block in self._variables.get(name, ()) if v.place < place and _is_in(place, block)]
        if not visible:
            return None
        nearest = max(block.start_byte for _, block in visible)
        found = [v for v, block in visible if block.start_byte == nearest]
        # Two in one block are branches of an `#if`, and which of them is compiled is unknown.
        return found[0] if len(found) == 1 else replace(found[0], values=(), is_unclear=True)

    def changes(self, variable: HostVariable) -> list[HostChange]:
        """All possible changes of this variable, conservatively including others of its name in the same function."""
        home = self.function_at(variable.place)
        return [
            change
            for change in self._changes.get(variable.name, ())
            if home is None or (home.start_byte <= change.place < home.end_byte)
        ]

    def function_at(self, place: int) -> Node | None:
        around = [f for functions in self.functions.values() for f in functions if _is_in(place, f)]
        return max(around, key=lambda function: function.start_byte, default=None)

    def calls_of(self, function: Node) -> list[Node]:
        declarator = first(function, "function_declarator")
        own = declarator.child_by_field_name("declarator") if declarator is not None else None
        name = text_of(own).rsplit("::", 1)[-1] if own is not None else ""
        return [call for call in self.calls if called(call)[0] == name and not is_launch(call)]

    def _of_kind(self, *kinds: str) -> list[Node]:
        """In source order."""
        return sorted((node for kind in kinds for node in self._by_kind.get(kind, ())), key=lambda node: node.start_byte)

    @cached_property
    def _by_kind(self) -> dict[str, list[Node]]:
        """Cached, because host files are long."""
        found: dict[str, list[Node]] = {}
        for node in walk(self.declarations.root):
            found.setdefault(node.type, []).append(node)
        return found

    @cached_property
    def _variables(self) -> dict[str, list[tuple[HostVariable, Node]]]:
        found: dict[str, list[tuple[HostVariable, Node]]] = {}
        for node in self._of_kind("declaration"):
            block = _block(node)
            for variable in _declared_by(node):
                found.setdefault(variable.name, []).append((variable, block))
        return found

    @cached_property
    def _changes(self) -> dict[str, list[HostChange]]:
        found: dict[str, list[HostChange]] = {}
        for node in self._of_kind(*_CHANGING):
            for change in (*_changes_by(node), *self._changes_by_reference(node)):
                found.setdefault(change.name, []).append(change)
        return found

    def _changes_by_reference(self, node: Node) -> Iterator[HostChange]:
        """Changes through reference parameters of this file's functions."""
        functions = self.functions.get(called(node)[0], ()) if node.type == "call_expression" else ()
        for function in functions:
            listed = first(function, "parameter_list")
            parameters = listed.named_children if listed is not None else []
            for parameter, given in zip(parameters, arguments_of(node), strict=False):
                is_open = "&" in text_of(parameter) and "const" not in text_of(parameter)
                if is_open and given.type == "identifier":
                    yield HostChange(text_of(given), None, None, node.start_byte)


def parameters_of(function: Node) -> list[HostVariable]:
    listed = first(function, "parameter_list")
    found = []
    for node in listed.named_children if listed is not None else ():
        declared = node.child_by_field_name("type")
        name, depth = declared_name(node.child_by_field_name("declarator"))
        found.append(HostVariable(text_of(name) if name else "", text_of(declared) if declared else "", depth, node.start_byte))
    return found


def is_launch(call: Node) -> bool:
    function = call.child_by_field_name("function")
    return any(c.type == "kernel_call_syntax" for c in (*call.children, *(function.children if function is not None else ())))


def called(call: Node) -> tuple[str, list[Node]]:
    """Plain name and template arguments of a call."""
    return plain_name(call.child_by_field_name("function"))


def plain_name(node: Node | None) -> tuple[str, list[Node]]:
    """`ns::k<float>` → `k`, [`float`]; nothing if it is not a name."""
    while node is not None and node.type in {"qualified_identifier", "template_function"}:
        name = node.child_by_field_name("name")
        if node.type == "template_function":
            listed = node.child_by_field_name("arguments")
            return text_of(name) if name else "", list(listed.named_children) if listed is not None else []
        node = name
    is_name = node is not None and node.type in {"identifier", "primitive_type", "type_identifier"}
    return (text_of(node) if is_name and node is not None else ""), []


def arguments_of(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [child for child in listed.named_children if child.type != "comment"] if listed is not None else []


def _declared_by(node: Node) -> Iterator[HostVariable]:
    declared = node.child_by_field_name("type")
    type_text = " ".join(text_of(declared).split()) if declared is not None else ""
    is_const = any(c.type == "type_qualifier" and text_of(c) in {"const", "constexpr"} for c in node.children)
    for declarator in node.children_by_field_name("declarator"):
        value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
        values: tuple[Node, ...] = () if value is None else (value,)
        is_list = value is not None and value.type in {"argument_list", "initializer_list"}
        if value is not None and is_list:
            values = tuple(child for child in value.named_children if child.type != "comment")
        elif inner is not None and inner.type == "function_declarator":
            # `dim3 block(TILE, TILE);` looks like a function declaration.
            listed, inner = inner.child_by_field_name("parameters"), inner.child_by_field_name("declarator")
            values, is_list = tuple(expression_nodes(text_of(listed)[1:-1]) if listed is not None else ()), True
        name, depth = declared_name(inner)
        if name is not None:
            yield HostVariable(text_of(name), type_text, depth, name.start_byte, values, is_const, is_list)


def _changes_by(node: Node) -> Iterator[HostChange]:
    if node.type == "assignment_expression":
        left, right, sign = (node.child_by_field_name(key) for key in ("left", "right", "operator"))
        is_plain = sign is not None and text_of(sign) == "="
        if left is not None and left.type == "identifier":
            yield HostChange(text_of(left), None, right if is_plain else None, node.start_byte)
        if left is not None and left.type == "field_expression":
            owner, part = left.child_by_field_name("argument"), left.child_by_field_name("field")
            if owner is not None and part is not None and owner.type == "identifier":
                yield HostChange(text_of(owner), text_of(part), right if is_plain else None, node.start_byte)
    elif node.type == "update_expression" or _INPUT_STREAM.match(text_of(node) if node.type == "binary_expression" else ""):
        yield from (HostChange(text_of(c), None, None, node.start_byte) for c in node.named_children if c.type == "identifier")
    elif node.type == "pointer_expression" and text_of(node).startswith("&"):
        # A function that gets a number's address may change it: scanf, the occupancy API. Copies only read.
        parent = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
        if parent is not None and parent.type == "call_expression" and not re.search("Memcpy|memcpy", called(parent)[0]):
            name = text_of(node)[1:].strip()
            if name.isidentifier():
                yield HostChange(name, None, None, node.start_byte)


def _block(node: Node) -> Node:
    parent = node.parent
    while parent is not None and parent.type not in _BLOCKS:
        node, parent = parent, parent.parent
    return parent if parent is not None else node


def _is_in(place: int, node: Node) -> bool:
    return node.start_byte <= place < node.end_byte
