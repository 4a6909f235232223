"""Whether a kernel reads or writes a pointer parameter's memory, as far as its text shows.

An element that is only assigned is not read. The pointer is followed into variables and functions of the same file; if it goes
anywhere else, it may be read and written there, and the result is uncertain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.spec.declarations import Declarations, declared_name, first, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||"})
# Contexts that only read a pointer, or pass it to a part of the same body.
_WITHOUT_MEMORY = frozenset(
    {"condition_clause", "unary_expression", "sizeof_expression", "expression_statement", "lambda_capture_specifier"}
)
_CAST = re.compile(r"(?:reinterpret|static|const)_cast\s*<.*>", re.DOTALL)
_MAX_CALLS = 4  # how deep functions are followed


@dataclass(frozen=True, slots=True)
class PointerUse:
    """`is_certain`: the text shows what is read and written; `is_part`: possibly only some elements are."""

    is_read: bool = False
    is_written: bool = False
    is_certain: bool = True
    is_part: bool = False

    def __or__(self, other: PointerUse) -> PointerUse:
        return PointerUse(
            self.is_read or other.is_read,
            self.is_written or other.is_written,
            self.is_certain and other.is_certain,
            self.is_part or other.is_part,
        )


_NOTHING = PointerUse()
_READ = PointerUse(is_read=True)
_WRITTEN = PointerUse(is_written=True)
_CHANGED = PointerUse(is_read=True, is_written=True)
UNKNOWN = PointerUse(is_read=True, is_written=True, is_certain=False)

# Effects of functions without a source here; an atomic function also reads the element that it updates.
_CALLS = (
    (re.compile(r"__ld\w+|vloada?_?\w*|atomic_load\w*|prefetch|printf|assert"), _READ),
    (re.compile(r"__st(?:cs|cg|wb|wt)|vstorea?_?\w*|atomic_(?:store|init)\w*"), _WRITTEN),
    (re.compile(r"(?:__hip_)?atom(?:ic)?[A-Z_]\w*|red_\w+|swap"), _CHANGED),
)
_COPYING_CALL = re.compile(r"memcpy|__pipeline_memcpy_async|memcpy_async|async_work_group_(?:strided_)?copy")


@dataclass(frozen=True, slots=True)
class _Value:
    """An expression that is the pointer, or an element of its memory.

    `is_part`: only a member of an element. `is_scattered`: memory contents determine which element.
    """

    node: Node
    is_element: bool
    is_part: bool = False
    is_scattered: bool = False


class Uses:
    """Uses of pointers inside one function's body."""

    def __init__(self, declarations: Declarations, body: Node, pointers: frozenset[str], calls: int = 0) -> None:
        self._declarations = declarations
        self._body = body
        self._calls = calls
        self._from_memory = _values_from(body, pointers) | pointers
        self._macros = _macros(declarations)

    def of(self, name: str) -> PointerUse:
        """Uses of a parameter, by name."""
        found = self.through(name, {name}, is_element=False)
        used = {text_of(n) for n in walk(self._body) if n.type == "identifier"}
        hidden = any(name in self._macros[macro] for macro in used & self._macros.keys())
        return found | UNKNOWN if hidden else found

    def through(self, name: str, seen: set[str], *, is_element: bool) -> PointerUse:
        """`seen` are the variables already followed. `is_element`: the name is a reference to an element, not a pointer."""
        found = _NOTHING
        for node in walk(self._body):
            if node.type == "identifier" and text_of(node) == name and not _declares(node):
                found |= self._use(_Value(node, is_element), seen)
        return found

    def _use(self, value: _Value, seen: set[str]) -> PointerUse:
        """Walks outwards from the name, through expressions for the pointer or an element, to the operation on it."""
        while (parent := value.node.parent) is not None:
            further = self._outwards(value, parent)
            if further is None:
                return self._end(value, parent, seen)
            if isinstance(further, PointerUse):
                return further
            value = further
        return UNKNOWN

    def _outwards(self, value: _Value, parent: Node) -> _Value | PointerUse | None:
        """The enclosing expression for the same memory, or the operation on it if recognised; None at the end."""
        match parent.type:
            case "parenthesized_expression":
                return replace(value, node=parent)
            case "subscript_expression" if parent.child_by_field_name("argument") == value.node:
                scattered = value.is_scattered or self._follows_from_memory(parent, value.node)
                return replace(value, node=parent, is_element=True, is_scattered=scattered)
            case "pointer_expression":
                return replace(value, node=parent, is_element=text_of(parent).startswith("*"))
            case "field_expression":
                # A method may do anything with its object.
                return UNKNOWN if _is_called(parent) else replace(value, node=parent, is_element=True, is_part=True)
            case _:
                return None if value.is_element else self._outwards_as_pointer(value, parent)

    def _outwards_as_pointer(self, value: _Value, parent: Node) -> _Value | PointerUse | None:
        around = replace(value, node=parent)
        match parent.type:
            case "update_expression":
                return around
            case "cast_expression":
                return _READ if _names_const(parent.child_by_field_name("type")) else around
            case "argument_list" if parent.parent is not None and _is_cast(parent.parent):
                call = parent.parent
                return _READ if _names_const(call.child_by_field_name("function")) else replace(value, node=call)
            case "conditional_expression":
                return _NOTHING if parent.child_by_field_name("condition") == value.node else around
            case "binary_expression":
                return self._in_arithmetic(value, parent)
            case _:
                return None

    def _in_arithmetic(self, value: _Value, parent: Node) -> _Value | PointerUse:
        operator = _operator(parent)
        if operator in _COMPARISONS:
            return _NOTHING
        if operator not in {"+", "-"}:
            return UNKNOWN
        return replace(value, node=parent, is_scattered=value.is_scattered or self._follows_from_memory(parent, value.node))

    def _end(self, value: _Value, parent: Node, seen: set[str]) -> PointerUse:
        """The operation on it there."""
        match parent.type:
            case "assignment_expression" if parent.child_by_field_name("left") == value.node:
                return self._assigned(value, parent)
            case "assignment_expression" | "init_declarator":
                kept = self._kept(value, parent, seen)
                return replace(kept, is_part=kept.is_part or (kept.is_written and value.is_scattered))
            case "argument_list":
                return self._passed(value, parent)
            case "update_expression":
                return _CHANGED
            case _:
                return _READ if value.is_element else _NOTHING if parent.type in _WITHOUT_MEMORY else UNKNOWN

    def _assigned(self, value: _Value, assignment: Node) -> PointerUse:
        if not value.is_element:
            return _NOTHING  # the pointer moves on
        if _operator(assignment) != "=":
            return _CHANGED
        return replace(_WRITTEN, is_part=value.is_part or value.is_scattered)

    def _kept(self, value: _Value, parent: Node, seen: set[str]) -> PointerUse:
        """The uses of the variable it is stored in."""
        target = parent.child_by_field_name("declarator") or parent.child_by_field_name("left")
        is_reference = target is not None and target.type == "reference_declarator"
        declaration = parent.parent if parent.type == "init_declarator" else None
        if (value.is_element and not is_reference) or (declaration is not None and _is_const(declaration)):
            return _READ
        name, _ = declared_name(target)
        if name is None:
            return UNKNOWN
        if text_of(name) in seen:
            return _NOTHING
        seen.add(text_of(name))
        return self.through(text_of(name), seen, is_element=value.is_element)

    def _passed(self, value: _Value, arguments: Node) -> PointerUse:
        call = arguments.parent
        function = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
        if function is None:
            return _READ if value.is_element else UNKNOWN  # a constructor
        name = text_of(function).split("<", 1)[0].rsplit("::", 1)[-1].strip()
        if name in self._macros or (name.isupper() and not name.startswith("__")):
            return UNKNOWN
        place = next((i for i, argument in enumerate(arguments.named_children) if argument == value.node), 0)
        known = None if value.is_element and name != "swap" else _known_call(name, place)
        return known or self._inside(name, place, value)

    def _inside(self, name: str, place: int, value: _Value) -> PointerUse:
        """The uses in a function of this file that gets it as that argument."""
        unseen = _READ if value.is_element else UNKNOWN
        function = self._declarations.function(name) if self._calls < _MAX_CALLS else None
        listed = first(function, "parameter_list") if function is not None else None
        body = function.child_by_field_name("body") if function is not None else None
        if listed is None or body is None or place >= len(listed.named_children):
            return unseen
        parameter = listed.named_children[place]
        declarator = parameter.child_by_field_name("declarator")
        is_reference = declarator is not None and declarator.type == "reference_declarator"
        if _is_const(parameter) or (value.is_element and not is_reference):
            return _READ
        inner, depth = declared_name(declarator)
        if inner is None or (depth == 0 and not value.is_element):
            return unseen
        inside = Uses(self._declarations, body, frozenset({text_of(inner)}), self._calls + 1)
        return inside.through(text_of(inner), {text_of(inner)}, is_element=value.is_element)

    def _follows_from_memory(self, element: Node, pointer: Node) -> bool:
        """Whether the index next to the pointer was itself read from memory: some elements may then never be written."""
        beside = (child for child in element.children if child != pointer)
        return any(text_of(n) in self._from_memory for child in beside for n in walk(child) if n.type == "identifier")


def _known_call(name: str, place: int) -> PointerUse | None:
    if _COPYING_CALL.fullmatch(name):
        return _WRITTEN if place == 0 else _READ
    return next((use for pattern, use in _CALLS if pattern.fullmatch(name)), None)


def _values_from(body: Node, pointers: frozenset[str]) -> frozenset[str]:
    """Variables whose value derives from the pointers' memory."""
    given: list[tuple[str, frozenset[str]]] = []
    for node in walk(body):
        if node.type == "init_declarator":
            name, depth = declared_name(node.child_by_field_name("declarator"))
            value = node.child_by_field_name("value")
            if name is not None and value is not None and depth == 0:
                given.append((text_of(name), _names_in(value)))
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and left.type == "identifier" and right is not None:
                given.append((text_of(left), _names_in(right)))
    known = set(pointers)
    while new := {name for name, names in given if name not in known and names & known}:
        known |= new
    return frozenset(known - pointers)


def _macros(declarations: Declarations) -> dict[str, frozenset[str]]:
    """Names that each macro of the file uses, except its own parameters."""
    found = {}
    for node in walk(declarations.root):
        if node.type in {"preproc_function_def", "preproc_def"}:
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            own = node.child_by_field_name("parameters")
            words = frozenset(re.findall(r"[A-Za-z_]\w*", text_of(value))) if value is not None else frozenset()
            if name is not None:
                found[text_of(name)] = words - _names_in(own) if own is not None else words
    return found


def _names_in(node: Node) -> frozenset[str]:
    return frozenset(text_of(n) for n in walk(node) if n.type == "identifier")


def _declares(node: Node) -> bool:
    """Whether a variable is declared with the name here, rather than used."""
    parent = node.parent
    while parent is not None and parent.type.endswith("_declarator") and parent.type != "init_declarator":
        node, parent = parent, parent.parent
    if parent is None or parent.type not in {"init_declarator", "declaration", "parameter_declaration"}:
        return False
    return parent.child_by_field_name("declarator") == node


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return text_of(operator) if operator is not None else ""


def _is_called(node: Node) -> bool:
    return node.parent is not None and node.parent.child_by_field_name("function") == node


def _is_cast(call: Node) -> bool:
    function = call.child_by_field_name("function") if call.type == "call_expression" else None
    return function is not None and _CAST.fullmatch(text_of(function)) is not None


def _names_const(node: Node | None) -> bool:
    return node is not None and re.search(r"\bconst\b", text_of(node)) is not None


def _is_const(declaration: Node) -> bool:
    """`const float* p` and `float const* p`, not `float* const p`."""
    return any(child.type == "type_qualifier" and text_of(child) == "const" for child in declaration.children)
