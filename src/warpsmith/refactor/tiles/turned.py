"""Recognises kernels that turn a matrix: every element of one buffer goes to its place in another, rows become columns.

Each thread moves elements of its own. What it moves depends on its place in the grid only, so who moves an element does not
matter, nor whether it is moved once or twice. Two coordinates count the elements: `r` along the rows of the output (neighbours
there lie `from_stride` apart in the input), `c` along those of the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import Unmet, axis, on_workloads, present, require
from warpsmith.refactor.tiles.addresses import read_only
from warpsmith.source import Loop, Names, Polynomial, loops_of
from warpsmith.source.comparisons import MIRRORED, NEGATED
from warpsmith.source.dataflow import is_pure
from warpsmith.source.guards import is_return
from warpsmith.source.reaching import ReachingNames
from warpsmith.source.statements import pieces_of
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_ONE = Polynomial.constant(1)


@dataclass(frozen=True, slots=True)
class Bound:
    """One more than the last coordinate: in the source's own arithmetic, and as kernel.toml says it."""

    value: Polynomial
    expression: str


@dataclass(frozen=True, slots=True)
class Turned:
    """`to[c * to_stride + r] = from[r * from_stride + c]` for all r and c; strides and starts are the same for all threads."""

    to: str
    source: str
    to_start: Polynomial
    from_start: Polynomial
    to_stride: Polynomial
    from_stride: Polynomial
    r: Bound
    c: Bound
    store: Node


@dataclass(frozen=True, slots=True)
class _Move:
    """The one assignment, the conditions under which it is reached (with whether they must be false), and the loop around it."""

    store: Node
    conditions: tuple[tuple[Node, bool], ...]
    rows: Loop | None


def turned(subject: Subject, names: Names) -> Turned:
    """Raises Unmet with what is different from a matrix being turned."""
    together = teamwork(subject.source)
    require(together.none, f"the kernel {together.described()}: the result may depend on which thread moves an element")
    require(together.waits is None, f"{together.waits}: threads may wait for each other")
    reaching = ReachingNames(subject.source, names.parameters, subject.kernel)
    return _Recogniser(subject, reaching, _move(subject, names)).turned()


# ── the one assignment ──


def _move(subject: Subject, names: Names) -> _Move:
    conditions: list[tuple[Node, bool]] = []
    rows: Loop | None = None
    block = subject.source.body
    while True:
        last = _last(block, conditions, subject)
        if last.type == "expression_statement":
            store = last.named_children[0] if last.named_children else last
            is_store = store.type == "assignment_expression" and text_of(field(store, "operator")) == "="
            require(is_store and field(store, "left").type == "subscript_expression", "the work is more than one store", last)
            return _Move(store, tuple(conditions), rows)
        if last.type == "if_statement" and last.child_by_field_name("alternative") is None:
            conditions.append((field(last, "condition"), False))
            block = field(last, "consequence")
            continue
        loop = next(loops_of(last, names), None) if last.type == "for_statement" else None
        known = loop is not None and rows is None and loop.node == last and loop.ends_below and not loop.jumps()
        require(known, "the work is more than one store", last)
        rows, block = loop, field(last, "body")


def _last(block: Node, conditions: list[tuple[Node, bool]], subject: Subject) -> Node:
    """The statement of a block that works; those before it only name things, or return."""
    *before, last = [p.node for p in pieces_of(block, subject.source.tree)] or [block]
    for node in before:
        if node.type == "if_statement" and node.child_by_field_name("alternative") is None:
            require(is_return(field(node, "consequence")), "the work is more than one store", node)
            conditions.append((field(node, "condition"), True))
            continue
        require(_only_names(node, subject), "the work is more than one store", node)
    return last


def _only_names(node: Node, subject: Subject) -> bool:
    """A declaration with pure values, or `name = value;` of a local."""
    if node.type in {"declaration", "alias_declaration"}:
        return is_pure(node, subject.source)
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    if inner is None or inner.type != "assignment_expression" or text_of(field(inner, "operator")) != "=":
        return False
    return field(inner, "left").type == "identifier" and is_pure(field(inner, "right"), subject.source)


# ── what it moves where ──


class _Recogniser:
    def __init__(self, subject: Subject, names: ReachingNames, move: _Move) -> None:
        self._subject = subject
        self._names = names
        self._move = move
        self._geometry = Geometry.of(subject, names)
        self._steps = [] if move.rows is None else [move.rows.atom]
        self._own = {a: self._geometry.resolved(Polynomial.atom(f"blockDim.{a}")) for a in "xy"}  # elements of a block
        if move.rows is not None:
            step = present(move.rows.step, "a loop's trip count is unknown", move.rows.node)
            by_block = self._geometry.polynomial(step, names) == self._own["y"] and names.value(move.rows.start) == 0
            require(by_block, "a thread's rows are not a block's height apart", move.rows.node)
            self._own["y"] = self._geometry.polynomial(move.rows.bound, names)

    def turned(self) -> Turned:
        store = self._move.store
        value, conditions = self._value(unwrapped(field(store, "right")))
        to, written = self._address(field(store, "left"))
        source, read = self._address(present(value, "the stored value is more than a loaded value", store))
        constant = read_only(self._subject)
        require(source in constant and to not in constant, f"{source} may be written between the load and the store", store)
        blocks = self._blocks(written, read)
        written, read = (self._by_place(p, blocks, store) for p in (written, read))
        for r, c in (("x", "y"), ("y", "x")):
            along = [p.coefficient(f"threadIdx.{a}") for p, a in ((written, r), (read, c), (written, c), (read, r))]
            if along[:2] != [_ONE, _ONE]:
                continue
            to_stride, from_stride = (present(p, "an index is not a sum", store) for p in along[2:])
            to_start, from_start = (p.without("threadIdx.x").without("threadIdx.y") for p in (written, read))
            for part in (to_stride, from_stride, to_start, from_start):
                self._require_same(part, store)
            require(
                to_stride.terms and to_stride != _ONE and from_stride.terms, "the output is not a transpose of the input", store
            )
            bounds = self._bounds([*self._move.conditions, *conditions], blocks)
            return Turned(to, source, to_start, from_start, to_stride, from_stride, bounds[r], bounds[c], store)
        raise Unmet("no access runs along threadIdx.y while another runs along threadIdx.x", store)

    def _value(self, value: Node) -> tuple[Node | None, list[tuple[Node, bool]]]:
        """The element that is loaded, and on which conditions: where they do not hold, something else is stored."""
        conditions: list[tuple[Node, bool]] = []
        for _ in range(4):
            if value.type == "subscript_expression":
                return value, conditions
            if value.type == "conditional_expression":
                conditions.append((field(value, "condition"), False))
                value = unwrapped(field(value, "consequence"))
            elif value.type == "identifier" and (found := self._names.definition(value)).is_fixed and found.value is not None:
                value = unwrapped(found.value)
            else:
                return None, []
        return None, []

    def _address(self, element: Node) -> tuple[str, Polynomial]:
        """The pointer parameter, and what is added to it."""
        base = unwrapped(field(element, "argument"))
        total = self._polynomial(base) + self._polynomial(field(element, "indices").named_children[0])
        pointers = [p.name for p in self._subject.source.parameters if p.depth == 1 and p.name in total.atoms]
        known = len(pointers) == 1 and total.coefficient(pointers[0]) == _ONE
        require(known, f"cannot analyse the address of {text_of(element)}", element)
        return pointers[0], total.without(pointers[0])

    def _polynomial(self, node: Node) -> Polynomial:
        return self._geometry.polynomial(node, self._names)

    def _blocks(self, *indices: Polynomial) -> dict[str, str]:
        """Along which axis of the grid the blocks go on that have the threads' axis x, and y."""
        found: dict[str, str] = {}
        for own, extent in self._own.items():
            for block in "xy":
                pairs = [(i.coefficient(f"blockIdx.{block}"), i.coefficient(f"threadIdx.{own}")) for i in indices]
                if all(b is not None and t is not None and t.terms and b == extent * t for b, t in pairs):
                    found[own] = block
        require(
            len(set(found.values())) == 2, "element indices do not follow from the thread's index in the grid", self._move.store
        )
        return found

    def _by_place(self, value: Polynomial, blocks: dict[str, str], at: Node) -> Polynomial:
        """With threadIdx.x and y for the place in the grid; a block's part and the loop's must count as the thread's own does."""
        for own, block in blocks.items():
            thread = value.coefficient(f"threadIdx.{own}")
            wanted = None if thread is None else self._own[own] * thread
            same = [value.coefficient(step) == thread for step in self._steps if own == "y"]
            alike = thread is not None and value.coefficient(f"blockIdx.{block}") == wanted and all(same)
            require(alike, "element indices do not follow from the thread's index in the grid", at)
        for atom in ("blockIdx.x", "blockIdx.y", *self._steps):
            value = value.without(atom)
        return value

    def _require_same(self, value: Polynomial, at: Node) -> None:
        """Made of numbers, parameters that nobody changes, and the block's place along z."""
        scalars = {p.name for p in self._subject.source.parameters if not p.depth}
        for atom in value.atoms:
            fixed = atom in scalars and not self._names.is_assigned(atom, self._subject.source.body)
            require(fixed or atom in self._names.parameters or atom == "blockIdx.z", f"{atom} is not a size of a matrix", at)

    def _bounds(self, conditions: Sequence[tuple[Node, bool]], blocks: dict[str, str]) -> dict[str, Bound]:
        found: dict[str, Bound] = {}
        for condition, negated in conditions:
            for left, operator, right in _comparisons(condition, self._names, negated=negated):
                own, bound = self._bound(left, operator, right, blocks)
                same = found.setdefault(own, bound).value == bound.value
                require(same, f"there are two bounds along {own}", left)
        for own in "xy":
            bound = present(found.get(own), f"no bounds check gives the matrix's extent along threadIdx.{own}", self._move.store)
            covered = f"({axis(self._subject.variant.grid, blocks[own])}) * ({self._reach(own)}) - ({bound.expression})"
            require(min(on_workloads(self._subject, covered)) >= 0, f"the grid does not cover all elements along {own}")
        return found

    def _bound(self, left: Node, operator: str, right: Node, blocks: dict[str, str]) -> tuple[str, Bound]:
        if operator[0] == ">":
            left, operator, right = right, MIRRORED[operator], left
        place = self._by_place(self._polynomial(left), blocks, left)
        along = next((a for a in "xy" if place == Polynomial.atom(f"threadIdx.{a}")), None)
        own, value = present(along, "a condition is not a bounds check of the matrix", left), self._polynomial(right)
        self._require_same(value, right)
        expression = present(self._names.expression(right), f"{text_of(right)} is not a size of a matrix", right)
        if operator == "<=":
            value, expression = value + _ONE, f"{expression} + 1"
        return own, Bound(value, expression)

    def _reach(self, own: str) -> str:
        """Elements of a block along an axis."""
        rows = self._move.rows
        if own == "y" and rows is not None:
            return present(self._names.expression(rows.bound), "the number of a block's rows is unknown", rows.node)
        return axis(self._subject.variant.block, own)


def _comparisons(condition: Node, names: Names, *, negated: bool) -> Iterator[tuple[Node, str, Node]]:
    """What must all hold: joined by && where the condition must hold, by || where it must not."""
    condition = unwrapped(condition)
    if condition.type == "condition_clause":
        condition = unwrapped(condition.named_children[-1])
    if condition.type == "identifier" and (found := names.definition(condition)).is_fixed and found.value is not None:
        yield from _comparisons(found.value, names, negated=negated)
        return
    operator = text_of(field(condition, "operator")) if condition.type == "binary_expression" else ""
    if operator == ("||" if negated else "&&"):
        for side in ("left", "right"):
            yield from _comparisons(field(condition, side), names, negated=negated)
        return
    require(re.fullmatch("[<>]=?", operator), "a condition is not a bounds check of the matrix", condition)
    yield field(condition, "left"), NEGATED[operator] if negated else operator, field(condition, "right")
