"""How the threads of a block fill a tile: whether together they fill all of it, and whether barriers keep it apart from its uses.

Then who fills which element is nobody's business but theirs, and another way of dealing the elements out does as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Subject
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import Unmet, axis, present, require
from warpsmith.source import Loop, Names, loops_of
from warpsmith.source.redundant_barriers import is_barrier
from warpsmith.source.scopes import Origin
from warpsmith.source.tiles.staged import Tile
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped
from warpsmith.source.uniform import Uniformity

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_COMBINATIONS = 4096
_VECTOR = 4  # elements that a store through `float4*` fills


@dataclass(frozen=True, slots=True)
class _Subscript:
    """`factor * part + offset`, where the part is `counter`, `counter / divisor` or `counter % divisor`."""

    counter: str
    operator: str
    divisor: str
    factor: int
    offset: int


class Filling:
    def __init__(self, subject: Subject, names: Names, tile: Tile) -> None:
        self._subject, self._names, self._tile = subject, names, tile
        self._geometry = Geometry.of(subject, names)
        self._loops = {loop.atom: loop for copy in tile.copies for loop in loops_of(copy, names)}

    # ── barriers ──

    def require_apart(self) -> None:
        """All threads wait between filling the tile and reading it, and before it is filled again."""
        tile = self._tile
        block = tile.copies[0].parent
        assert block is not None
        same = block.type == "compound_statement" and all(copy.parent == block for copy in tile.copies)
        require(same, f"{tile.array.name} is not filled by adjacent statements", tile.copies[0])
        apart = Uniformity(self._names, tile.copies[0]).way_there(tile.copies[0])
        require(
            apart is None,
            f"because of {apart}, cannot prove that all threads reach the filling of {tile.array.name}",
            tile.copies[0],
        )
        statements = [s for s in block.named_children if s.type not in {"comment", "preproc_call"}]
        last = max(statements.index(copy) for copy in tile.copies)
        reading = [n for n, s in enumerate(statements) if any(is_within(read, s) for read in tile.reads)]
        require(sum(any(is_within(r, s) for s in statements) for r in tile.reads) == len(tile.reads), self._elsewhere, block)
        waits = [n for n, s in enumerate(statements) if is_barrier(s)]
        first = min(reading)
        require(last < first and any(last < n < first for n in waits), self._unordered, statements[first])
        around = any(a.type in LOOPS for a in ancestors(tile.copies[0]) if is_within(a, self._subject.source.body))
        again = any(n > max(reading) or n < min(statements.index(copy) for copy in tile.copies) for n in waits)
        require(again or not around, self._unordered, statements[max(reading)])

    @property
    def _elsewhere(self) -> str:
        return f"{self._tile.array.name} is also read where it has not been filled"

    @property
    def _unordered(self) -> str:
        return f"no barrier in the same block separates the filling of {self._tile.array.name} from its uses"

    # ── coverage ──

    def require_whole(self) -> None:
        """Every element is filled by some thread, whatever the parameters are."""
        tile, name = self._tile, self._tile.array.name
        filled = [tuple(subscripts) for element in self._written() for subscripts in self._filled(element)]
        writes = list(dict.fromkeys(filled))  # an element may be loaded under a condition, and padded otherwise
        shapes = {tuple((s.counter, s.operator, s.divisor, s.factor) for s in w) for w in writes}
        require(len(shapes) == 1, f"{name} is filled in different ways", tile.copies[0])
        for place, first in enumerate(writes[0]):
            offsets = {w[place].offset for w in writes}
            is_whole = len(offsets) == first.factor and all(0 <= offset < first.factor for offset in offsets)
            require(is_whole, f"not every element of {name} is filled", tile.copies[0])
        require(len(writes) == prod(s.factor for s in writes[0]), f"not every element of {name} is filled", tile.copies[0])
        counters = [s.counter for s in writes[0]]
        for place, (extent, s) in enumerate(zip(tile.array.extents, writes[0], strict=True)):
            sharing = [other for other in range(len(counters)) if counters[other] == s.counter]
            if s.operator == "":
                require(sharing == [place], f"{name} is filled along a diagonal", tile.copies[0])
                self._require_same(f"({self._steps(s.counter)}) * {s.factor}", self._expression(extent))
                continue
            others = [writes[0][other] for other in sharing if other != place]
            paired = len(others) == 1 and {s.operator, others[0].operator} == {"/", "%"} and others[0].divisor == s.divisor
            require(paired, f"cannot analyse how {name} is filled", tile.copies[0])
            if s.operator == "%":
                self._require_same(f"({s.divisor}) * {s.factor}", self._expression(extent))
            else:
                require(s.factor == 1, f"cannot analyse how {name} is filled", tile.copies[0])
                self._require_same(self._steps(s.counter), f"({self._expression(extent)}) * ({s.divisor})")

    def _written(self) -> list[Node]:
        """The elements that are filled; a store of four stands for its first."""
        found = []
        for copy in self._tile.copies:
            for use in of_kind(copy, "identifier"):
                element = use
                while (parent := element.parent) is not None and parent.type == "subscript_expression":
                    if field(parent, "argument") != element:
                        break
                    element = parent
                if text_of(use) == self._tile.array.name and element != use:
                    found.append(element)
        return found

    def _filled(self, element: Node) -> list[list[_Subscript]]:
        """The subscripts of what one store fills: of four neighbours where it goes through a pointer to a vector."""
        subscripts: list[_Subscript] = []
        node = element
        while node.type == "subscript_expression":
            index = field(node, "indices").named_children[0]
            read = self._read(index)
            reason = f"cannot analyse how {text_of(index)} distributes {self._tile.array.name}"
            subscripts.insert(0, present(read, reason, index))
            node = unwrapped(field(node, "argument"))
        is_vector = element.parent is not None and element.parent.type == "pointer_expression"
        *others, last = subscripts
        return [[*others, replace(last, offset=last.offset + n)] for n in range(_VECTOR if is_vector else 1)]

    def _read(self, node: Node, factor: int = 1, offset: int = 0) -> _Subscript | None:  # noqa: PLR0911 - one for each kind
        node = self._resolved(node)
        builtin = self._names.builtin(node)
        if builtin is not None and builtin.startswith("threadIdx"):
            return _Subscript(builtin, "", "", factor, offset)
        if node.type == "identifier":
            return self._counter(node, "", "", factor, offset)
        if node.type != "binary_expression":
            return None
        left, right, operator = field(node, "left"), field(node, "right"), text_of(field(node, "operator"))
        number = self._names.value(right)
        if operator == "+" and number is not None:
            return self._read(left, factor, offset + factor * number)
        if operator == "*" and number is not None:
            return self._read(left, factor * number, offset)
        if operator in {"/", "%"}:
            return self._counter(self._resolved(left), operator, self._expression(right), factor, offset)
        return None

    def _counter(self, node: Node, operator: str, divisor: str, factor: int, offset: int) -> _Subscript | None:
        found = self._names.definition(node) if node.type == "identifier" else None
        if found is None or found.origin is not Origin.LOOP or found.node is None:
            return None
        return _Subscript(f"{text_of(node)}@{found.node.start_byte}", operator, divisor, factor, offset)

    def _resolved(self, node: Node) -> Node:
        node = unwrapped(node)
        found = self._names.definition(node) if node.type == "identifier" else None
        if found is not None and found.origin is Origin.LOCAL and found.is_fixed and found.value is not None:
            return self._resolved(found.value)
        return node

    def _steps(self, counter: str) -> str:
        """How many values it takes, from 0 on, over all threads and steps."""
        if counter.startswith("threadIdx."):
            return axis(self._subject.variant.block, counter[-1])
        loop = present(self._loops.get(counter), f"the range of {counter.partition('@')[0]} is unknown", self._tile.copies[0])
        counts = loop.ends_below and not loop.changes_variable(self._names)
        require(counts, f"the loop over {loop.variable} is not in canonical form", loop.node)
        require(self._from_zero(loop), f"the loop over {loop.variable} does not distribute all of its range", loop.node)
        return self._expression(loop.bound)

    def _from_zero(self, loop: Loop) -> bool:
        if self._names.value(loop.start) == 0 and (loop.step is None or self._names.value(loop.step) == 1):
            return True
        share = self._geometry.thread_share(loop, self._names)
        return share is not None and self._geometry.base(loop, share, self._names) is None

    def _expression(self, node: Node) -> str:
        return present(self._names.expression(node), f"{text_of(node)} is not known before the launch", node)

    def _require_same(self, left: str, right: str) -> None:
        one, other = Expression.parse(left), Expression.parse(right)
        values = {t.name: t.values for t in self._subject.variant.tunables if t.name in one.names | other.names}
        known = one.names | other.names <= values.keys() and prod(map(len, values.values())) <= _MOST_COMBINATIONS
        require(known, f"cannot prove before the launch that {left} is {right}", self._tile.copies[0])
        for chosen in product(*values.values()):
            given = dict(zip(values, chosen, strict=True))
            try:
                same = one.evaluate(given) == other.evaluate(given)
            except InputError as error:
                raise Unmet(error.message, self._tile.copies[0]) from None
            require(same, f"the threads fill {left} of {right} elements of {self._tile.array.name}", self._tile.copies[0])
