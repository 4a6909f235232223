"""Where in memory an expression points: the buffers it may lie in, and its address as polynomials, one for each way it can go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_Test: TypeAlias = "Callable[[Node, int], bool]"

_CAST = re.compile(r"(?:static|reinterpret|const)_cast\b")
_READING = re.compile(r"__ldg\b|__ldcs\b|__ldca\b|__ldcg\b|__builtin_nontemporal_load\b")


@dataclass(frozen=True, slots=True)
class Place:
    """`roots` are the pointer parameters it may come from, `?` where that is not clear."""

    node: Node
    roots: frozenset[str]
    addresses: tuple[Polynomial, ...]


def written_places(within: Node, names: Names) -> Iterator[Place]:
    """Memory that is assigned to, or whose address is given to a function that may write there."""
    for node in of_kind(within, "assignment_expression", "update_expression"):
        place = place_of(field(node, "left" if node.type == "assignment_expression" else "argument"), names)
        if place is not None:
            yield place
    yield from (p for call in of_kind(within, "call_expression") for p in _handed_over(call, names, unless=_is_only_read))


def read_places(within: Node, names: Names) -> Iterator[Place]:
    """Memory whose value is used, or whose address is given to a function that may read there."""
    for node in of_kind(within, "subscript_expression", "pointer_expression"):
        parent = node.parent
        inner = parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == node
        place = None if inner or _is_replaced(node) else place_of(node, names)
        if place is not None:
            yield place
    yield from (p for call in of_kind(within, "call_expression") for p in _handed_over(call, names, unless=_is_only_written))


def place_of(target: Node, names: Names) -> Place | None:
    """What an lvalue stands for in memory; None for a thread's own variables and arrays."""
    whole, target = target, unwrapped(target)
    while target.type == "field_expression":
        if text_of(field(target, "operator")) == "->":
            return Place(whole, frozenset("?"), ())
        target = unwrapped(field(target, "argument"))
    if target.type == "subscript_expression":
        array, indices = unwrapped(field(target, "argument")), field(target, "indices").named_children
        if array.type in {"subscript_expression", "field_expression"}:
            inner = place_of(array, names)
            return inner and Place(whole, inner.roots, _sums(inner.addresses, _addresses(indices[0], names)))
        if is_own_array(array, names):
            return None
        return Place(
            whole, _roots(array, names) or frozenset("?"), _sums(_addresses(array, names), _addresses(indices[0], names))
        )
    if target.type == "pointer_expression" and text_of(field(target, "operator")) == "*":
        pointer = field(target, "argument")
        own = text_of(unwrapped(pointer)) == "this"
        return None if own else Place(whole, _roots(pointer, names) or frozenset("?"), _addresses(pointer, names))
    return None


def is_own_array(node: Node, names: Names) -> bool:
    """Whether it names an array that the function declares."""
    definition = names.definition(node) if node.type == "identifier" else None
    declarator = definition.node if definition is not None and definition.origin is Origin.LOCAL else None
    return declarator is not None and any(True for _ in of_kind(declarator, "array_declarator"))


def _addresses(node: Node, names: Names) -> tuple[Polynomial, ...]:  # noqa: PLR0911 - one return for each kind of expression
    """The address, or one for each branch of the conditions in it. Casts of pointers do not change where they point."""
    node = unwrapped(node)
    if node.type == "identifier":
        found = names.definition(node)
        if found.is_fixed and found.value is not None and found.origin is Origin.LOCAL and names.value(node) is None:
            return _addresses(found.value, names)
    if node.type == "conditional_expression":
        return (*_addresses(field(node, "consequence"), names), *_addresses(field(node, "alternative"), names))
    if node.type == "binary_expression" and (sign := text_of(field(node, "operator"))) in {"+", "-", "*"}:
        left, right = (_addresses(field(node, side), names) for side in ("left", "right"))
        return tuple(a + b if sign == "+" else a - b if sign == "-" else a * b for a in left for b in right)
    if node.type == "call_expression" and _CAST.match(text_of(node)):
        return _addresses(field(node, "arguments").named_children[0], names)
    if node.type == "cast_expression":
        return _addresses(field(node, "value"), names)
    if node.type == "pointer_expression" and text_of(field(node, "operator")) == "&":
        place = place_of(field(node, "argument"), names)
        return place.addresses if place is not None else (Polynomial.of(node, names),)
    return (Polynomial.of(node, names),)


def _sums(left: tuple[Polynomial, ...], right: tuple[Polynomial, ...]) -> tuple[Polynomial, ...]:
    return tuple(a + b for a in left for b in right)


def _roots(node: Node, names: Names) -> frozenset[str]:
    """The pointer parameters among the names that the address is made of, through fixed locals; nothing when it is no address."""
    found: set[str] = set()
    pointers = {p.name for p in names.source.parameters if p.depth}
    for use in of_kind(node, "identifier"):
        definition = names.definition(use)
        name, declarator = text_of(use), definition.node
        if definition.origin is Origin.PARAMETER and name in pointers:
            found.add(name if _only_advances(name, names) else "?")
        elif definition.origin is not Origin.PARAMETER and declarator is not None and _is_pointer(declarator):
            known = definition.value is not None and not is_within(use, declarator) and _only_advances(name, names)
            found |= _roots(definition.value, names) if known and definition.value is not None else {"?"}
    return frozenset(found)


def _only_advances(name: str, names: Names) -> bool:
    """Whether the pointer, once it has its value, at most moves inside its buffer."""
    signs = [n.child_by_field_name("operator") for n in names.assignments(name, names.source.body)]
    return all(sign is not None and text_of(sign) in {"+=", "-=", "++", "--"} for sign in signs)


def _is_pointer(declarator: Node) -> bool:
    declaration = text_of(declarator.parent) if declarator.parent is not None else ""
    return any(True for _ in of_kind(declarator, "pointer_declarator")) or re.search(r"\bauto\b", declaration) is not None


def _handed_over(call: Node, names: Names, *, unless: _Test) -> Iterator[Place]:
    """Addresses that are given to functions and methods."""
    function = field(call, "function")
    if _CAST.match(text_of(function)) or (unless is _is_only_read and _READING.match(text_of(function))):
        return
    method = function.type == "field_expression"
    name = text_of(field(function, "field")) if method else text_of(function).partition("<")[0].strip()
    called = names.source.functions(name)
    for index, argument in enumerate(field(call, "arguments").named_children):
        if _is_address(argument, names) and not (called and all(unless(function, index) for function in called)):
            yield Place(call, _roots(argument, names) or frozenset("?"), _addresses(argument, names))


def _is_address(node: Node, names: Names) -> bool:
    """Whether the expression is a pointer into memory, rather than a value read through one."""
    node = unwrapped(node)
    if node.type == "binary_expression":
        return any(_is_address(field(node, side), names) for side in ("left", "right"))
    if node.type == "conditional_expression":
        return _is_address(field(node, "consequence"), names)
    if node.type == "call_expression":
        return bool(_CAST.match(text_of(node))) and _is_address(field(node, "arguments").named_children[0], names)
    if node.type == "cast_expression":
        return _is_address(field(node, "value"), names)
    if node.type == "pointer_expression" and text_of(field(node, "operator")) == "&":
        return place_of(field(node, "argument"), names) is not None
    return node.type == "identifier" and bool(_roots(node, names)) and not is_own_array(node, names)


def _is_only_read(function: Node, index: int) -> bool:
    """A pointer to const."""
    declared = next(of_kind(function, "parameter_list")).named_children
    return index < len(declared) and re.search(r"\bconst\b[^*]*\*", text_of(declared[index])) is not None


def _is_only_written(function: Node, index: int) -> bool:
    """The function only ever assigns to what the pointer points to."""
    declared = next(of_kind(function, "parameter_list")).named_children
    names = list(of_kind(declared[index], "identifier")) if index < len(declared) else []
    bodies = [c for c in function.children if c.type == "compound_statement"]
    if not names or not bodies:
        return False
    uses = [n for n in of_kind(bodies[0], "identifier") if text_of(n) == text_of(names[-1])]
    return all(_is_in_target(use) for use in uses)


def _is_in_target(use: Node) -> bool:
    node: Node | None = use
    while node is not None and node.type != "compound_statement":
        if node.type in {"subscript_expression", "pointer_expression"} and _is_replaced(node):
            return not any(is_within(use, i) for i in _index_nodes(node))
        node = node.parent
    return False


def _index_nodes(node: Node) -> list[Node]:
    indices = node.child_by_field_name("indices")
    return [indices] if indices is not None else []


def _is_replaced(node: Node) -> bool:
    """Whether it is the left side of a plain assignment."""
    parent = node.parent
    is_target = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node
    return is_target and parent is not None and text_of(field(parent, "operator")) == "="
