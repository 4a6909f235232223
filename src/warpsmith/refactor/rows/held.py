"""What the variables of a kernel hold at a point of it: the same in all threads, a thread's part of a sum, or an element's own.

For `one_each`, which reads the kernel's statements in their order and writes down what follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.refactor.rows.common_code import CommonCode
from warpsmith.source.accumulators import terms_of
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped
from warpsmith.source.whole_block import family, reduction_in

if TYPE_CHECKING:
    from tree_sitter import Node

# A narrow one would run over, or lose more, with several elements of a thread.
ADDED = frozenset({
    "float", "double", "int", "unsigned", "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "size_t",
    "int32_t", "uint32_t", "int64_t", "uint64_t", "uint",
})  # fmt: skip


class Is(Enum):
    """What a variable that common code declares holds at some point."""

    COMMON = auto()  # the same in all threads
    ZERO = auto()  # so, and nothing
    PART = auto()  # the thread's part of a sum over the block
    UNSURE = auto()


@dataclass(slots=True)
class Held:
    """`elements` are variables that are the element's own, by name, with their declarators; `fixed` those never changed."""

    common: CommonCode
    parameters: frozenset[str]
    elements: dict[str, Node] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    threads: dict[str, Node] = field(default_factory=dict)  # names of the thread's index
    state: dict[str, Is] = field(default_factory=dict)
    combined: dict[str, str] = field(default_factory=dict)  # how a PART is made up

    def common_names(self) -> set[str]:
        return {name for name, state in self.state.items() if state in {Is.COMMON, Is.ZERO}}

    def apart(self, node: Node, besides: Collection[str]) -> str | None:
        """A name that may differ between threads. What this class knows of a variable counts more than how it was declared."""
        known = self.state.keys() | self.elements.keys() | self.threads.keys()
        for use in self._outside_reductions(node):
            name = text_of(use)
            found = self.common.names.definition(use).node
            if name in known and name not in besides and not (found is not None and is_within(found, node)):
                return name
        return self.common.apart(node, besides)

    def _outside_reductions(self, node: Node) -> Iterator[Node]:
        if node.type == "identifier":
            yield node
        elif reduction_in(node, self.common.reductions) is None:
            for child in node.children:
                yield from self._outside_reductions(child)

    def is_known(self, name: str) -> bool:
        """Whether the kernel outside the guards calls something so."""
        return name in self.state or name in self.elements or name in self.threads or name in self.parameters

    def is_common_number(self, name: str) -> bool:
        """Whether it is a number that common code works with: one that leads to no memory."""
        kinds = {self.common.kind(d) for d in self.common.declared(name)}
        return self.state.get(name) in {Is.COMMON, Is.ZERO} and bool(kinds) and kinds <= ADDED

    def is_steady(self, name: str) -> bool:
        """Whether a common variable is never changed: found out again, it would be the same."""
        return self.state.get(name) in {Is.COMMON, Is.ZERO} and not any(
            self.common.changes(name, d) for d in self.common.declared(name)
        )

    def is_common(self, node: Node) -> bool:
        return self.apart(node, self.common_names()) is None and self.gives_parts(node) and self.common.is_plain(node)

    def require_common(self, node: Node, reason: str, *, steps: bool = False) -> None:
        require(self.apart(node, self.common_names()) is None and self.gives_parts(node), reason, node)
        require(self.common.is_plain(node, changes=steps), "a statement outside the guards is executed per thread", node)

    def gives_parts(self, node: Node) -> bool:
        """Whether what sums over the block are made of is the threads' parts, and so the elements'."""
        for call in of_kind(node, "call_expression"):
            reduction = reduction_in(call, self.common.reductions)
            if reduction is None:
                continue
            given = field_of(call, "arguments").named_children
            how = family(reduction.operation)
            terms = [t for a in given for t in (terms_of(a, "+") if how == "+" else [unwrapped(a)])]
            mine = all(self.state.get(text_of(t)) is Is.PART and self.combined.get(text_of(t)) == how for t in terms)
            if not mine:
                return False
        return True
