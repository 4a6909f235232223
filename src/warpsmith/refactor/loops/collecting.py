"""Whose results a kernel stores: what passes must show before other threads or blocks get the steps of a sum."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.source import Loop, Names
from warpsmith.source.access_paths import Place, written_places
from warpsmith.source.dataflow import base_name
from warpsmith.source.effects import updates_atomically, waits
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def require_no_own_results(sums: Sequence[str], loops: Sequence[Loop], names: Names) -> None:
    """What is stored outside the loops is not any one thread's or block's sum, which would be made of other elements."""
    for write in written_places(names.source.body, names) if sums else ():
        outside = not any(is_within(write.node, loop.body) for loop in loops)
        own = any(a.mentions("threadIdx") or a.mentions("blockIdx") for a in write.addresses) or not write.addresses
        reason = f"a per-thread or per-block {sums[0]} is stored: it would aggregate other elements"
        require(not (outside and own and not _is_scratch(write, names)), reason, write.node)


def require_reduced(sums: Collection[str], first: Loop, loops: Sequence[Loop], names: Names) -> None:
    """After the first loop, and outside of others that threads share, the sums go nowhere but to the other threads."""
    for name in sums:
        for use in of_kind(names.source.body, "identifier"):
            inside = any(is_within(use, loop.node) for loop in loops)
            if text_of(use) != name or use.start_byte < first.node.end_byte or inside:
                continue
            change = next((a for a in ancestors(use) if a.type == "assignment_expression"), None)
            if change is not None and text_of(field(change, "left")) == name and waits(field(change, "right"), names):
                break  # from here on it is the sum of all
            handed = any(a.type == "call_expression" and _is_exchange(a, names) for a in ancestors(use))
            shared = change is not None and _is_shared_place(field(change, "left"), names)
            require(handed or shared, f"a thread uses its own {name}, which would aggregate other elements", use)


def _is_exchange(call: Node, names: Names) -> bool:
    return waits(call, names) or updates_atomically(call, names)


def _is_shared_place(target: Node, names: Names) -> bool:
    base = next((n for n in of_kind(target, "identifier") if text_of(n) == base_name(target)), None)
    declarator = names.definition(base).node if base is not None else None
    declaration = next((a for a in ancestors(declarator) if a.type == "declaration"), None) if declarator is not None else None
    return declaration is not None and is_shared(declaration, names.source)


def _is_scratch(write: Place, names: Names) -> bool:
    """Whether it goes to memory of the file's own, which nobody sees from outside."""
    base = next((n for n in of_kind(write.node, "identifier") if text_of(n) == base_name(write.node)), None)
    return base is not None and names.definition(base).origin is Origin.FILE
