"""Whether code has the same meaning in every thread of a block, of a row of it, or of the grid: nothing in it tells them apart.

Errs on the side of doubt: a variable that changes after its declaration counts as each thread's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.polynomial import global_axis
from warpsmith.source.reductions import block_reductions
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import ancestors, condition_of, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_THREAD = {"threadIdx", "get_local_id", "get_global_id", "get_local_linear_id", "get_global_linear_id", "get_sub_group_local_id"}
_BLOCK = {"blockIdx", "get_group_id"}


class Uniformity:
    """Of the names of one kernel, seen from a piece of code whose own declarations do not count.

    `axes` are those along which the threads in question lie, and `blocks` those along which their blocks do; along others, all
    of them have the same index.
    """

    def __init__(
        self, names: Names, own: Node, besides: Collection[str] = (), axes: Collection[str] = "xyz", blocks: Collection[str] = ""
    ) -> None:
        self._apart = {f"threadIdx.{axis}" for axis in axes} | {f"blockIdx.{axis}" for axis in blocks}
        self._asking = _THREAD | _BLOCK if blocks else _THREAD
        self._names, self._own, self._besides = names, own, frozenset(besides)
        self._reducing = {reduction.name for reduction in block_reductions(names.source)}
        self._asked: set[tuple[int, int]] = set()

    def own_name(self, within: Node) -> str | None:
        """A name used within that may differ from thread to thread; None when there is none. `besides` are left out."""
        for use in self._uses(within):
            if text_of(use) not in self._besides and not self._is_uniform(use):
                return text_of(use)
        return None

    def way_there(self, place: Node) -> str | None:
        """A name that may decide, differently in different threads, whether the place is reached; None when there is none."""
        returns = [r for r in of_kind(self._names.source.body, "return_statement") if r.start_byte < place.start_byte]
        for inner in (place, *returns):
            for outer in ancestors(inner):
                if not is_within(outer, self._names.source.body):
                    break
                condition = condition_of(outer)
                name = self.own_name(condition) if condition is not None else None
                if name is not None:
                    return name
        return None

    def _uses(self, within: Node) -> Iterator[Node]:
        """Identifiers, but for the arguments of functions that give all threads the same."""
        waiting = [within]
        while waiting:
            node = waiting.pop()
            if node.type == "identifier":
                yield node
            elif not (node.type == "call_expression" and self._reduces(node)):
                waiting += reversed(node.children)

    def _reduces(self, call: Node) -> bool:
        return text_of(field(call, "function")).partition("<")[0].strip() in self._reducing

    def _is_uniform(self, use: Node) -> bool:  # noqa: PLR0911 - one return for each kind of name
        name, found = text_of(use), self._names.definition(use)
        if name in self._asking:
            index = self._names.builtin(use.parent) if use.parent is not None else None
            axis = global_axis(text_of(use.parent)) if use.parent is not None else None
            if axis is not None:  # both the thread's place and its block's
                return self._apart.isdisjoint(f"{name}.{axis}" for name in ("threadIdx", "blockIdx"))
            return index is not None and index not in self._apart
        if found.node is not None and is_within(found.node, self._own):
            return True
        if found.origin is Origin.LOCAL and found.node is not None:
            declaration = found.node.parent
            if declaration is not None and is_shared(declaration, self._names.source):
                return self._is_read_by_all(use)
            return found.is_fixed and found.value is not None and self._is_uniform_inside(found.value)
        if found.origin is Origin.LOOP and found.node is not None:
            loop = next(a for a in ancestors(found.node) if a.type == "for_statement")
            parts = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
            steady = not self._names.is_assigned(name, field(loop, "body"))
            return steady and all(part is None or self._is_uniform_inside(part) for part in parts)
        if found.origin is Origin.PARAMETER:
            return found.is_fixed
        return self._asks_nobody(name)

    def _is_uniform_inside(self, node: Node) -> bool:
        """Asked once for each node: what is asked about itself on the way is no reason against it."""
        span = node.start_byte, node.end_byte
        if span in self._asked:
            return True
        self._asked.add(span)
        if all(self._is_uniform(use) for use in self._uses(node)):
            return True
        self._asked.discard(span)  # so that asked again, it is the same answer
        return False

    def _asks_nobody(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function of the file, if it is one, neither asks which thread it is in nor calls one that does."""
        functions = self._names.source.functions(name) if name not in seen else []
        called = {text_of(n) for function in functions for n in of_kind(function, "identifier")}
        return not called & self._asking and all(self._asks_nobody(inner, seen | {name}) for inner in called - {name})

    def _is_read_by_all(self, use: Node) -> bool:
        """Of shared memory, what is at one place for all: a variable, or an element whose number is known."""
        parent = use.parent
        if parent is None or parent.type != "subscript_expression":
            return not any(True for _ in of_kind(self._names.definition(use).node or use, "array_declarator"))
        return all(self._names.value(unwrapped(index)) is not None for index in field(parent, "indices").named_children)
