"""Pointers moved to the thread's own place before a loop over whole steps: for `passes.whole_steps`.

Where a step uses its number for nothing but to index pointers, `p[first + k + threadIdx.x]` becomes `p_own[first + k]`. The index
is then the same for all threads, which the CPU device's compiler makes better code of (docs/concepts/loops.md has figures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Loop, Names
from warpsmith.source.structs import pointee_type
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class OwnPointers:
    """Declarations before the loop, and the pointers' new names in its body."""

    before: tuple[str, ...]
    edits: tuple[Edit, ...]


def own_pointers(loop: Loop, names: Names, start: str, free: FreeNames) -> OwnPointers | None:
    """None where the step's number is used for more than indexing pointers that stay as they are."""
    if names.source.language is Language.OPENCL:
        return None  # a declaration would have to name the address space
    pointers: dict[str, str] = {}
    edits = []
    for use in of_kind(loop.body, "identifier"):
        if text_of(use) != loop.variable:
            continue
        pointer = _indexed_by(use, names)
        if pointer is None:
            return None
        name = text_of(pointer)
        if name not in pointers:
            pointers[name] = free.take(f"{name}_own")
        edits.append(Edit(pointer.start_byte, pointer.end_byte, pointers[name]))
    before = tuple(f"const auto {own} = {name} + {start};" for name, own in pointers.items())
    return OwnPointers(before, tuple(edits)) if before else None


def _indexed_by(use: Node, names: Names) -> Node | None:
    """The pointer of `p[i]`, when it is a name that never changes."""
    indices = use.parent
    subscript = indices.parent if indices is not None and indices.type == "subscript_argument_list" else None
    if subscript is None or subscript.type != "subscript_expression" or len(field(subscript, "indices").named_children) != 1:
        return None
    pointer = unwrapped(field(subscript, "argument"))
    fixed = pointer.type == "identifier" and names.definition(pointer).is_fixed
    return pointer if fixed and pointee_type(pointer, names) is not None else None
