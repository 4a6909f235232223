"""Dynamic shared memory with an element for each thread: it grows with the block."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.refactor.extents import names_of, same, substituted, tidy
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.refactor.lifting.threads import Use, thread_uses
from warpsmith.source.arrays import arrays_of
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.tree import text_of
from warpsmith.source.wholes import outer


def dynamic_bytes(lifted: Symbolic, block: Sequence[str], shared: str) -> str | None:
    """The launch's dynamic bytes in terms of a block that has parameters in it; None where that is not clear."""
    threads = tidy(" * ".join(f"({extent})" for extent in block))
    changed = names_of(threads) & lifted.constants.keys()
    arrays = {array.name: array for array in arrays_of(lifted.names) if array.is_dynamic}
    if not changed or not arrays or not _indexed_by_thread(lifted, frozenset(arrays)):
        return shared
    sizes = {lifted.names.size_of(array.element) for array in arrays.values()}
    if len(sizes) != 1 or None in sizes:
        return None
    each = tidy(f"{sizes.pop()} * ({threads})")
    as_it_was = substituted(each, {name: str(lifted.defaults[name]) for name in changed})
    return each if same(as_it_was, shared) else None


def _indexed_by_thread(lifted: Symbolic, arrays: frozenset[str]) -> bool:
    for axis in "xyz":
        for use in thread_uses(lifted.names, axis):
            parent = outer(use.node)
            while parent is not None and parent.type == "subscript_argument_list":
                parent = parent.parent
            if use.kind is Use.STRIDED or parent is None or parent.type != "subscript_expression":
                continue
            if text_of(subscripts_of(parent)[1]) in arrays:
                return True
    return False
