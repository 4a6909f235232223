"""Work whose results nobody stores: sums for elements of a tile that lie outside the matrix.

A loop may change nothing but the thread's own variables, and all that is read of these elsewhere may be read under a check,
`if (row < m) c[row] = sum;`. Threads for which the check fails whatever `row` is need not run the loop at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from warpsmith.source.arrays import named_in_macros
from warpsmith.source.dataflow import base_name, changed_names, is_pure_call
from warpsmith.source.loops import Loop
from warpsmith.source.names import Names
from warpsmith.source.scopes import Declared, Origin
from warpsmith.source.symbolic_bounds import End, Extremes
from warpsmith.source.threads import is_shared, spelled
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

LEAVING = ("return_statement", "goto_statement", "labeled_statement", "gnu_asm_expression", "lambda_expression")
_OWN_AXES = "yz"  # along x neighbours are lanes of one vector: it is all or nothing for them


def needed(loop: Loop, names: Names, extents: Mapping[str, str]) -> list[str]:
    """What must hold for a thread to run the loop, as far as it differs between threads along y and z. Nothing: it must."""
    changed = changed_by(loop, names)
    if not changed:
        return []
    extremes = Extremes(names, loop.node, extents, _OWN_AXES)
    found: list[str] | None = None
    for read in reads_of(changed, loop, names):
        parts = [easiest for part in checks_at(read, names) if (easiest := _easiest(part, extremes, loop, names)) is not None]
        found = parts if found is None else [part for part in found if part in parts]
    return list(dict.fromkeys(found or []))


def changed_by(loop: Loop, names: Names) -> dict[str, Node]:
    """The variables that it changes and leaves behind, with their declarators; none where it does more than that."""
    source = names.source
    found: dict[str, Node] = {}
    if any(True for _ in of_kind(loop.node, *LEAVING)):
        return {}
    for call in of_kind(loop.node, "call_expression"):
        cast = text_of(field(call, "function")).startswith("static_cast")
        if names.builtin(call) is None and not cast and not is_pure_call(call, source):
            return {}
    for target in targets_in(loop.node):
        declared = source.scopes.declaration(base_name(target), target)
        if declared is None or not _is_own(declared, target, names):
            return {}
        if not is_within(declared.node, loop.node):
            found[declared.name] = declared.node
    known = changed_names(loop.node, source) <= {base_name(target) for target in targets_in(loop.node)}
    return found if known and not any(named_in_macros(name, names) for name in found) else {}


def _is_own(declared: Declared, target: Node, names: Names) -> bool:
    """Whether it is the thread's own: a plain variable, or an element of an array of its own; not where a pointer leads."""
    around = declared.node.parent
    if declared.origin not in {Origin.LOCAL, Origin.LOOP} or around is None or is_shared(around, names.source):
        return False
    if any(True for _ in of_kind(declared.node, "pointer_declarator", "reference_declarator")):
        return False
    is_array = any(True for _ in of_kind(declared.node, "array_declarator"))
    return is_array or not any(True for _ in of_kind(target, "subscript_expression", "pointer_expression", "->"))


def targets_in(within: Node) -> Iterator[Node]:
    for node in of_kind(within, "assignment_expression", "update_expression"):
        yield field(node, "left" if node.type == "assignment_expression" else "argument")


def reads_of(changed: Mapping[str, Node], loop: Loop, names: Names) -> Iterator[Node]:
    """Uses of the variables outside the loop, but for plain assignments to them."""
    for use in of_kind(names.source.body, "identifier"):
        declared = names.source.scopes.declaration(text_of(use), use)
        if declared is None or changed.get(text_of(use)) != declared.node or is_within(use, declared.node):
            continue
        if not is_within(use, loop.node) and not _is_target(use):
            yield use


def _is_target(use: Node) -> bool:
    element = use
    while element.parent is not None and element.parent.type == "subscript_expression":
        if field(element.parent, "argument") != element:
            return False
        element = element.parent
    parent = element.parent
    plain = parent is not None and parent.type == "assignment_expression" and text_of(field(parent, "operator")) == "="
    return plain and parent is not None and field(parent, "left") == element


def checks_at(read: Node, names: Names) -> Iterator[Node]:
    """Comparisons that all hold where it is read."""
    inner = read
    for outer in ancestors(read):
        if outer.type == "if_statement" and is_within(inner, field(outer, "consequence")):
            yield from _conjuncts(field(outer, "condition"), names)
        inner = outer


def _conjuncts(condition: Node, names: Names) -> Iterator[Node]:
    condition = unwrapped(condition)
    if condition.type == "condition_clause":
        condition = unwrapped(condition.named_children[-1])
    if condition.type == "identifier" and (found := names.definition(condition)).is_fixed and found.value is not None:
        yield from _conjuncts(found.value, names)
    elif condition.type == "binary_expression" and text_of(field(condition, "operator")) == "&&":
        for side in ("left", "right"):
            yield from _conjuncts(field(condition, side), names)
    else:
        yield condition


def _easiest(part: Node, extremes: Extremes, loop: Loop, names: Names) -> str | None:
    """The comparison where it holds most easily: if not even there, then never. None where it says nothing of a thread's own."""
    operator = text_of(field(part, "operator")) if part.type == "binary_expression" else ""
    if operator not in {"<", "<=", ">", ">="}:
        return None
    small, large = (field(part, side) for side in (("left", "right") if operator[0] == "<" else ("right", "left")))
    signs = extremes.signs
    if not (signs.is_signed(small) and signs.is_signed(large)) and not (signs.is_natural(small) and signs.is_natural(large)):
        return None
    least, greatest = extremes.of(small, End.LEAST), extremes.of(large, End.GREATEST)
    if least is None or greatest is None:
        return None
    text = f"{least} {'<' if len(operator) == 1 else '<='} {greatest}"
    places = (spelled(f"threadIdx.{axis}", names.source.language) for axis in _OWN_AXES)
    return text if any(place in text for place in places) and holds_in_all_steps(text, loop, names) else None


def holds_in_all_steps(text: str, loop: Loop, names: Names) -> bool:
    """Whether it has the same value on every entry to the loop: sums may go on from one entry to the next."""
    around = [a for a in ancestors(loop.node) if a.type in LOOPS]
    for name in re.findall(r"[A-Za-z_]\w*", text):
        declared = names.source.scopes.declaration(name, loop.node)
        if declared is not None and any(is_within(declared.node, outer) for outer in around):
            return False
    return True
