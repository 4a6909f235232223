"""The loops over a thread's elements: those around its stores, and those that count through the same arrays of its own.

With `for (q …) sums[q] += …;` and, later, `for (q …) out[first + q] = sums[q];` both loops count elements: what is in `sums[q]`
is for the element that the second one stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.refactor.preconditions import require
from warpsmith.source import Loop, Names
from warpsmith.source.access_paths import place_of
from warpsmith.source.dataflow import base_name
from warpsmith.source.dead_work import targets_in
from warpsmith.source.scopes import Declared, Origin
from warpsmith.source.signs import Signs
from warpsmith.source.tiles.loaded import indices_of
from warpsmith.source.tree import is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


class ElementLoops:
    """`along` has the atoms of their counters for each axis: those of the stores to begin with."""

    def __init__(self, names: Names, loops: dict[str, Loop], along: dict[str, set[str]]) -> None:
        self._names, self._loops, self._signs = names, loops, Signs(names)
        self.along = along
        targets = targets_in(names.source.body)
        self._changed = {own.node.start_byte: own for target in targets if (own := self._own(target)) is not None}
        self._uses = [use for use in of_kind(names.source.body, "identifier") if self.declared(use) is not None]
        self._gather()

    def declared(self, use: Node) -> Declared | None:
        """The variable of the thread's own that this is, where some statement changes it."""
        found = self._names.source.scopes.declaration(text_of(use), use)
        inside = found is not None and is_within(use, found.node) and use != found.node
        return self._changed.get(found.node.start_byte) if found is not None and not inside else None

    def subscripts(self, use: Node) -> list[str | None]:
        """The loops' atoms that pick an element of the variable, None for anything else that does."""
        element = use
        while element.parent is not None and element.parent.type == "subscript_expression" and element.parent.child(0) == element:
            element = element.parent
        indices = list(indices_of(element)) if element != use else []
        return [self._counter(index) for index in indices]

    def around(self, node: Node, name: str) -> list[str]:
        """The loops over elements along the axis in which it stands."""
        return [atom for atom in self.along[name] if is_within(node, self._loops[atom].body)]

    def counts(self, index: Node) -> bool:
        """Whether it is the counter of some loop."""
        return self._counter(index) is not None

    def in_header(self, node: Node) -> bool:
        every = [self._loops[atom] for atoms in self.along.values() for atom in atoms]
        return any(is_within(node, loop.node) and not is_within(node, loop.body) for loop in every)

    def require_own_variables(self) -> None:
        require(
            sum(map(len, self.along.values())) == len(set().union(*self.along.values())), "one loop counter is used for two axes"
        )
        for use in self._uses:
            declared, picked = self.declared(use), self.subscripts(use)
            for atom in set().union(*self.along.values()):
                loop = self._loops[atom]
                own = declared is not None and is_within(declared.node, loop.body)
                require(
                    own or atom in picked or not is_within(use, loop.body),
                    f"{text_of(use)} is carried between elements of a thread",
                    use,
                )
        for (start, _), atoms in self._dimensions().items():
            for elements in self.along.values():
                require(
                    not atoms & elements or atoms <= elements,
                    f"{self._changed[start].name} has one entry per element of a thread, but is also used otherwise",
                    self._changed[start].node,
                )

    def _own(self, target: Node) -> Declared | None:
        """The variable that is changed, but for counters and memory."""
        if place_of(target, self._names) is not None:
            return None
        found = self._names.source.scopes.declaration(base_name(target), target)
        here = found is not None and found.origin is not Origin.FILE
        require(here, "the kernel changes a variable declared outside it", target)
        return None if found is None or self._is_counter(found) else found

    def _is_counter(self, found: Declared) -> bool:
        return f"{found.name}@{found.node.start_byte}" in self._loops

    def _counter(self, index: Node) -> str | None:
        loop = self._signs.loop_of(index) if index.type == "identifier" else None
        return None if loop is None else loop.atom

    def _dimensions(self) -> dict[tuple[int, int], set[str | None]]:
        found: dict[tuple[int, int], set[str | None]] = {}
        for use in self._uses:
            if (declared := self.declared(use)) is not None:
                for place, atom in enumerate(self.subscripts(use)):
                    found.setdefault((declared.node.start_byte, place), set()).add(atom)
        return found

    def _gather(self) -> None:
        while True:
            before = sum(map(len, self.along.values()))
            for atoms in self._dimensions().values():
                for elements in self.along.values():
                    if atoms & elements:
                        elements.update(atom for atom in atoms if atom is not None)
            if before == sum(map(len, self.along.values())):
                return
