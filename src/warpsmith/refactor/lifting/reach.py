"""How far reads reach into a shared tile, against what was filled: a filter's radius does not shrink with the tile.

`tile[threadIdx.x + HALO * TILE + j]` with j from -8 to 8 needs a halo of eight elements whatever TILE is. The least and the
greatest index that is read must lie between the least and the greatest that is written, as they did for the author. And how far a
block's threads go over its share of the grid, against where the next block begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import names_of, tidy, value_at
from warpsmith.refactor.lifting.linking import AXES
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.arrays import arrays_of
from warpsmith.source.geometry import as_text, subscripts_of
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.maximal_expressions import ARITHMETIC, whole_expressions
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.signs import Signs
from warpsmith.source.symbolic_bounds import End
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40


def halos(subject: Subject, lifted: Symbolic, block: Sequence[str]) -> Iterator[Rule]:
    """One rule for each end of a dimension that reads reach beyond where the block's own elements begin or end."""
    reach, cases = Reach(lifted.names, block), lifted.cases(subject.kernel)
    tiles = {a.name: len(a.extents) for a in arrays_of(lifted.names) if a.is_shared and not a.is_dynamic}
    written: dict[str, list[list[Node]]] = {name: [] for name in tiles}
    read: dict[str, list[list[Node]]] = {name: [] for name in tiles}
    for indices, name, is_written in _accesses(lifted.names, tiles):
        (written if is_written else read)[name].append(indices)
    for name, dimensions in tiles.items():
        for number in range(dimensions):
            for end in End:
                filled = _outermost([reach.of(indices[number], end) for indices in written[name]], end, cases)
                for indices in read[name]:
                    needed = reach.of(indices[number], end)
                    if filled is None or needed is None:
                        continue
                    low, high = (filled, needed) if end is End.LEAST else (needed, filled)
                    rule = tidy(f"({low}) <= ({high})")
                    if names_of(rule) & lifted.constants.keys() and all(value_at(rule, case) == 1 for case in cases):
                        line = lifted.source.line_of(indices[number])
                        yield Rule(rule, f"line {line} reads only elements of {name} that were filled")


def capacities(subject: Subject, lifted: Symbolic, block: Sequence[str]) -> Iterator[Rule]:
    """`float taps[BLOCK]` for as many taps as an argument says: a smaller block must not leave too little room for them."""
    reach, cases = Reach(lifted.names, block, limits=True), lifted.cases(subject.kernel)
    tiles = {a.name: a for a in arrays_of(lifted.names) if a.is_shared and not a.is_dynamic}
    for indices, name, _ in _accesses(lifted.names, {n: len(a.extents) for n, a in tiles.items()}):
        for index, extent in zip(indices, tiles[name].extents, strict=True):
            last, room = reach.of(index, End.GREATEST), lifted.names.expression(extent)
            if last is None or room is None or not names_of(room) & lifted.constants.keys():
                continue
            if names_of(last) & lifted.constants.keys():
                continue  # threads of a block: they may ask whether there is room, and `rules.rooms` is about the others
            rule = tidy(f"({last}) < ({room})")
            if all(value_at(rule, case) == 1 for case in cases):
                yield Rule(rule, f"line {lifted.source.line_of(index)} needs room in {name}")


def covers(lifted: Symbolic, shares: Mapping[str, str], block: Sequence[str]) -> Iterator[Rule]:
    """A block's threads and their loops go over all of its share: `blockIdx.x * PART + u * THREADS + threadIdx.x` with u < 4.

    The author's values are the evidence: where they end just where the next block begins, others must.
    """
    names = lifted.names
    extents = dict(zip(AXES, [*block, "1", "1"], strict=False))
    for body in lifted.source.reached():
        loops = {loop.atom: loop for loop in loops_of(body, names)}
        for node in whole_expressions(body, ARITHMETIC):
            place = Polynomial.of(node, names)
            for axis, part in shares.items():
                last = _last(place, axis, extents[axis], loops, names)
                rule = None if last is None else tidy(f"({last}) == ({part}) - 1")
                if rule is not None and names_of(rule) & lifted.constants.keys() and value_at(rule, lifted.defaults) == 1:
                    yield Rule(rule, f"line {lifted.source.line_of(node)} covers the block's share exactly once")


def _last(place: Polynomial, axis: str, extent: str, loops: Mapping[str, Loop], names: Names) -> str | None:
    """How far the last place of a block's is from its first, where threads are one apart; None where that is not clear."""
    thread, block = f"threadIdx.{axis}", f"blockIdx.{axis}"
    if place.coefficient(thread) != Polynomial.constant(1) or not (place.coefficient(block) or Polynomial.constant(0)).terms:
        return None
    found = [f"({extent}) - 1"]
    for atom in place.atoms - {thread, block}:
        apart, loop = place.coefficient(atom), loops.get(atom)
        if loop is None:
            continue  # of the share, or of a step in it
        bound, each = names.expression(loop.bound), None if apart is None else as_text(apart)
        counts = loop.step is None and loop.ends_below and names.value(loop.start) == 0
        if not counts or bound is None or each is None:
            return None
        found.append(f"(({bound}) - 1) * ({each})")
    rest = place.without(block)
    known = all({thread, *loops} & set(term) for term in rest.terms)
    return " + ".join(found) if known and len(found) > 1 else None


def _outermost(found: list[str | None], end: End, cases: Sequence[Mapping[str, int]]) -> str | None:
    """The end that reaches furthest for the author's values: others may reach further for other values, which is as well."""
    known = [text for text in found if text is not None and all(value_at(text, case) is not None for case in cases)]
    if not known or len(known) < len(found):
        return None
    furthest = min if end is End.LEAST else max
    chosen = {furthest(known, key=lambda text: (value_at(text, case) or 0, text)) for case in cases}
    return chosen.pop() if len(chosen) == 1 else f"{furthest.__name__}({', '.join(sorted(chosen))})"


def _accesses(names: Names, tiles: dict[str, int]) -> Iterator[tuple[list[Node], str, bool]]:
    """Whole subscripts of these arrays in the kernel itself: the indices, the array, whether they are only written."""
    for node in of_kind(names.source.body, "subscript_expression"):
        indices, base = subscripts_of(node)
        parent = node.parent
        if text_of(base) not in tiles or len(indices) != tiles[text_of(base)]:
            continue
        stores = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node
        plain = stores and parent is not None and text_of(field(parent, "operator")) == "="
        yield indices, text_of(base), plain


class Reach:
    """The ends of an index over the threads of a block and the steps of loops, as expressions of kernel.toml.

    With `limits`, an end may be further than the index really comes: where a loop ends, whatever its steps.
    """

    def __init__(self, names: Names, block: Sequence[str], *, limits: bool = False) -> None:
        self._names, self._signs, self._limits = names, Signs(names), limits
        self._last = {f"threadIdx.{axis}": f"({extent} - 1)" for axis, extent in zip(AXES, [*block, "1", "1"], strict=False)}

    def of(self, node: Node, end: End, depth: int = 0) -> str | None:  # noqa: PLR0911 - one return for each kind of expression
        node = unwrapped(node)
        if depth > _DEEPEST:
            return None
        value = self._names.value(node)
        known = str(value) if value is not None else self._names.expression(node)
        if known is not None:
            return f"({known})"
        builtin = self._names.builtin(node)
        if builtin is not None:
            return None if builtin not in self._last else "0" if end is End.LEAST else self._last[builtin]
        match node.type:
            case "identifier":
                return self._variable(node, end, depth + 1)
            case "binary_expression":
                return self._binary(node, end, depth + 1)
            case "cast_expression" if self._names.is_cast(node):
                return self.of(field(node, "value"), end, depth + 1)
            case _:
                return None

    def _binary(self, node: Node, end: End, depth: int) -> str | None:
        left, right, operator = field(node, "left"), field(node, "right"), text_of(field(node, "operator"))
        if operator not in {"+", "-", "*"}:
            return None
        if operator == "*" and not (self._signs.is_natural(left) and self._signs.is_natural(right)):
            return None
        one, other = self.of(left, end, depth), self.of(right, end.other if operator == "-" else end, depth)
        if one is None or other is None:
            return None
        return "0" if operator == "*" and "0" in {one.strip("()"), other.strip("()")} else f"({one} {operator} {other})"

    def _variable(self, use: Node, end: End, depth: int) -> str | None:
        found = self._names.definition(use)
        if found.origin is not Origin.LOOP:
            return self.of(found.value, end, depth) if found.is_fixed and found.value is not None else None
        loop = self._signs.loop_of(use)
        if loop is None or loop.changes_variable(self._names):
            return None
        if loop.step is not None and end is End.GREATEST and not self._limits:
            return None
        if end is End.LEAST:
            return self.of(loop.start, end, depth)
        bound = self.of(loop.bound, end, depth)
        return bound if bound is None or not loop.ends_below else f"({bound} - 1)"
