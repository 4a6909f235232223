"""Recognises that a loop computes again what another loop over the same steps computed, on the way to what it stores.

    for (...) s += expf(x[i] - top);
    for (...) out[i] = expf(x[i] - top) * scale;

Each thread has the same steps in both, so it could leave the value in the place that it stores to later, and find it there. Two
expressions are the same when they read the same after fixed names of the step are replaced by their values and loop variables by
their ranges. The place must be of the value's own type (nothing is rounded), a different one in every step, and nobody else's:
nothing of its buffer is read, and nothing else writes to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as data
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import place_of, read_places, written_places
from warpsmith.source.effects import declared_type
from warpsmith.source.independence import follows
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import pieces_of
from warpsmith.source.structs import member_type, pointee_type
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_KIND = "float"
_SINGLE = frozenset({"identifier", "number_literal", "subscript_expression", "call_expression", "field_expression"})


@dataclass(frozen=True, slots=True)
class KeptResult:
    """`value` is what is computed again, `assignment` what makes the stored value of it, and its target where it can be kept.

    Where the target is a lane of a pack, `pack` is the pack's declaration and `place` the memory that it is stored to.
    """

    loop: Loop
    value: Node = data(repr=False)
    assignment: Node = data(repr=False)
    pack: Node | None = data(repr=False)
    place: Node = data(repr=False)
    spare: tuple[Node, ...] = data(repr=False)  # declarations that nothing else needs


def meaning(node: Node, loop: Loop, names: Names) -> str:
    """The expression with the step's fixed names replaced by their values, and loop variables by their ranges."""
    if node.children:
        return "".join(meaning(child, loop, names) for child in node.children)
    text = text_of(node)
    if node.type == "identifier":
        return _meaning_of_name(node, loop, names)
    return f"{text} " if text.isidentifier() else text


def _meaning_of_name(use: Node, loop: Loop, names: Names) -> str:
    name, found = text_of(use), names.definition(use)
    if found.node is None or not is_within(found.node, loop.node):
        return f"{name} "
    if found.origin is Origin.LOOP and name == loop.variable:
        return "$ "
    if found.origin is Origin.LOOP:
        inner = next((o for o in loops_of(loop.body, names) if is_within(found.node, field(o.node, "initializer"))), None)
        header = [] if inner is None else [part for part in (inner.start, inner.bound, inner.step) if part is not None]
        if header:
            return f"[{';'.join(meaning(part, loop, names) for part in header)}]"
    elif found.is_fixed and found.value is not None:
        value = meaning(unwrapped(found.value), loop, names)
        return value if unwrapped(found.value).type in _SINGLE else f"({value})"
    return f"{name}@{found.node.start_byte} "  # like nothing in another loop


def kept_result(wanted: str, loop: Loop, names: Names) -> KeptResult | None:
    """Where the loop computes what means `wanted`, once, for a store of every step."""
    calls = [n for n in of_kind(loop.body, "call_expression") if meaning(n, loop, names) == wanted]
    assignment = next((a for a in ancestors(calls[0]) if a.type == "assignment_expression"), None) if len(calls) == 1 else None
    if assignment is None or not is_within(assignment, loop.body) or text_of(field(assignment, "operator")) != "=":
        return None
    target = unwrapped(field(assignment, "left"))
    statements = [piece.node for piece in pieces_of(loop.body, names.source.tree)]
    pack: Node | None = None
    place: Node | None = None
    kind: str | None = None
    if place_of(target, names) is not None:
        place, whole = target, _is_direct(assignment, statements)
        kind = pointee_type(unwrapped(field(target, "argument")), names) if target.type == "subscript_expression" else None
    else:
        pack, place, kind = _of_pack(target, assignment, statements, names) or (None, None, None)
        whole = _is_of_lanes(assignment, loop, names)
    if place is None or kind != _KIND or not whole or not _is_nobody_elses(place, loop, names):
        return None
    return KeptResult(loop, calls[0], assignment, pack, place, tuple(_spare(calls[0], statements)))


def _is_direct(assignment: Node, statements: list[Node]) -> bool:
    """Whether every step does it: it is a statement of the step itself."""
    return assignment.parent is not None and assignment.parent in statements


def _is_of_lanes(assignment: Node, loop: Loop, names: Names) -> bool:
    """Whether every step does it for all lanes: it stands in one counted loop, under no condition."""
    around = [a for a in ancestors(assignment) if is_within(a, loop.body) and a != loop.body]
    loops = [a for a in around if a.type == "for_statement"]
    known = {o.node.start_byte for o in loops_of(loop.body, names) if not o.jumps()}
    plain = all(a.type in {"for_statement", "compound_statement", "expression_statement"} for a in around)
    return plain and len(loops) == 1 and loops[0].start_byte in known


def _of_pack(target: Node, assignment: Node, statements: list[Node], names: Names) -> tuple[Node, Node, str] | None:
    """`b.lane[l]` of a pack that is declared in the step without a value and stored afterwards: its declaration, place, type."""
    element = unwrapped(field(target, "argument")) if target.type == "subscript_expression" else target
    owner = unwrapped(field(element, "argument")) if element.type == "field_expression" else None
    if owner is None or owner.type != "identifier":
        return None
    declared = next((s for s in statements if s.type == "declaration" and text_of(owner) in _plainly_declared(s)), None)
    stores = [
        node
        for s in statements
        if s.type == "expression_statement" and s.start_byte > assignment.end_byte
        for node in s.named_children
        if node.type == "assignment_expression" and text_of(unwrapped(field(node, "right"))) == text_of(owner)
    ]
    kind = member_type(declared_type(owner, names) or "", text_of(field(element, "field")), names)
    writes = [n for s in statements for n in of_kind(s, "assignment_expression") if text_of(owner) in text_of(field(n, "left"))]
    if declared is None or len(stores) != 1 or kind is None or writes != [assignment]:
        return None
    return declared, unwrapped(field(stores[0], "left")), kind


def _plainly_declared(declaration: Node) -> set[str]:
    return {text_of(c) for c in declaration.named_children if c.type == "identifier"}


def _is_nobody_elses(place: Node, loop: Loop, names: Names) -> bool:
    found, body = place_of(place, names), names.source.body
    if found is None or len(found.roots) != 1 or "?" in found.roots or len(found.addresses) != 1:
        return False
    read = any(found.roots & other.roots or "?" in other.roots for other in read_places(body, names))
    written = [other for other in written_places(body, names) if found.roots & other.roots or "?" in other.roots]
    return not read and len(written) == 1 and follows(found.addresses[0], loop)


def _spare(value: Node, statements: list[Node]) -> list[Node]:
    """Declarations of the step whose names are used only for the value."""
    found = []
    for statement in statements:
        declared = [c for c in statement.named_children if c.type == "init_declarator"] if statement.type == "declaration" else []
        if len(declared) != 1:
            continue
        name = text_of(next(of_kind(field(declared[0], "declarator"), "identifier")))
        uses = [n for s in statements if s != statement for n in walk(s) if n.type == "identifier" and text_of(n) == name]
        if uses and all(is_within(use, value) for use in uses):
            found.append(statement)
    return found
