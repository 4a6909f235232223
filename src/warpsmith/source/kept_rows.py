"""Recognises rows that threads keep in shared memory for themselves: what one writes in a strided loop, it alone reads in others.

Of such an array only the place is shared: a thread's elements could as well wait in its registers, or be read again from where
the same values lie in global memory (`source.same_values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.arrays import Array, named_in_macros
from warpsmith.source.effects import is_invariant
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import LOOPS, ancestors, is_within, of_kind, text_of
from warpsmith.source.tree import field as field_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BY_VALUE = frozenset(
    {"binary_expression", "init_declarator", "assignment_expression", "parenthesized_expression", "cast_expression"}
)
_STEP, _LANE = Polynomial.atom("#step"), Polynomial.atom("#lane")


class NotKept(Exception):  # noqa: N818 - control flow: the reason why an array was not recognised
    def __init__(self, reason: str, node: Node) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


@dataclass(frozen=True, slots=True)
class Use:
    """An element in a step of a strided loop; `lane` is the loop over the elements of a step, where a step has several."""

    element: Node = field(repr=False)
    loop: Loop
    lane: Loop | None


@dataclass(frozen=True, slots=True)
class KeptRow:
    """`statement` writes an element, in every step; `value` is what it writes. All loops have the same range."""

    array: Array
    statement: Node = field(repr=False)
    value: Node = field(repr=False)
    write: Use
    reads: tuple[Use, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All that go over the row, each once, in order."""
        found = {use.loop.node.start_byte: use.loop for use in (self.write, *self.reads)}
        return tuple(loop for _, loop in sorted(found.items(), key=lambda item: item[0]))


def kept_row(array: Array, names: Names, strided: Sequence[Loop]) -> KeptRow:
    """Raises NotKept. `strided` are the loops whose steps are distributed over the threads of a block."""
    if named_in_macros(array.name, names):
        raise NotKept(f"a macro mentions {array.name}, so some of its uses may be hidden", array.declarator)
    writes, reads = _elements(array, names)
    if len(writes) != 1 or not reads:
        raise NotKept(f"{array.name} is not written in one place and read in others", array.declarator)
    assignment = writes[0]
    write = _placed(array, field_of(assignment, "left"), names, strided)
    if not is_unconditional(assignment, write):
        raise NotKept(f"{array.name} is not written in every iteration", assignment)
    index = _index(write, names)
    _require_own(array, index, write, names)
    found = tuple(_placed(array, element, names, strided) for element in reads)
    for use in found:
        _require_same_steps(array, write, use, names)
        if _index(use, names) != index:
            raise NotKept(f"{array.name} is also read where another thread wrote it", use.element)
    assert assignment.parent is not None
    return KeptRow(array, assignment.parent, field_of(assignment, "right"), write, found)


def is_unconditional(node: Node, use: Use) -> bool:
    """Whether it is done in every step (and for every lane) of the use's loops."""
    plain = {"expression_statement", "compound_statement", "assignment_expression", "declaration", "init_declarator"}
    for outer in ancestors(node):
        if outer == use.loop.node:
            return True
        if outer.type not in plain and (use.lane is None or outer != use.lane.node):
            return False
    return False


def _elements(array: Array, names: Names) -> tuple[list[Node], list[Node]]:
    """The assignments to elements, and the elements whose values are used."""
    writes: list[Node] = []
    reads: list[Node] = []
    for use in _uses(array, names):
        element = use.parent
        if element is None or element.type != "subscript_expression" or field_of(element, "argument") != use:
            raise NotKept(f"{array.name} is used as a whole", use)
        parent = element.parent
        assert parent is not None
        if parent.type == "assignment_expression" and field_of(parent, "left") == element:
            statement = parent.parent
            if text_of(field_of(parent, "operator")) != "=" or statement is None or statement.type != "expression_statement":
                raise NotKept(f"{array.name} is changed in place", use)
            writes.append(parent)
        elif parent.type in _BY_VALUE or (parent.type == "argument_list" and _takes_values(parent, names)):
            reads.append(element)
        else:
            raise NotKept(f"an element of {array.name} is used other than by its value", use)
    return writes, reads


def _uses(array: Array, names: Names) -> Iterator[Node]:
    for use in of_kind(names.source.body, "identifier"):
        if text_of(use) != array.name or is_within(use, array.declarator):
            continue
        declared = names.definition(use).node
        if declared is not None and is_within(array.declarator, declared):
            yield use


def _takes_values(arguments: Node, names: Names) -> bool:
    """Functions of the file may take references; of others only those are called here that take numbers."""
    called = text_of(field_of(arguments.parent, "function")) if arguments.parent is not None else ""
    function = names.source.device_functions.get(called.partition("<")[0].strip())
    return function is None or "&" not in text_of(next(of_kind(function, "parameter_list")))


def _placed(array: Array, element: Node, names: Names, strided: Sequence[Loop]) -> Use:
    loop = next((o for o in strided if is_within(element, o.body)), None)
    if loop is None:
        raise NotKept(f"{array.name} is used outside block-stride loops", element)
    if loop.jumps() or loop.changes_variable(names):
        raise NotKept(f"an iteration over {loop.variable} can be left, or changes {loop.variable}", loop.node)
    inner = [a for a in ancestors(element) if a.type in LOOPS and is_within(a, loop.body)]
    if not inner:
        return Use(element, loop, None)
    lane = next((o for o in loops_of(inner[0], names) if o.node == inner[0]), None)
    counts = lane is not None and lane.step is None and lane.ends_below and not lane.changes_variable(names)
    if lane is None or len(inner) > 1 or not counts or Polynomial.of(lane.start, names) != Polynomial.constant(0):
        raise NotKept(f"{array.name} is used in an inner loop that does not simply count from 0", element)
    return Use(element, loop, lane)


def _index(use: Use, names: Names) -> Polynomial:
    """The subscript with the step and the lane under names that are the same for all loops."""
    polynomial = Polynomial.of(field_of(use.element, "indices").named_children[0], names)
    polynomial = _renamed(polynomial, use.loop.atom, _STEP)
    return polynomial if use.lane is None else _renamed(polynomial, use.lane.atom, _LANE)


def _renamed(polynomial: Polynomial, atom: str, new: Polynomial) -> Polynomial:
    factor = polynomial.coefficient(atom)
    return polynomial if factor is None else polynomial.without(atom) + factor * new


def _require_own(array: Array, index: Polynomial, write: Use, names: Names) -> None:
    """Different steps and lanes have different elements: `step * K + lane` with K lanes, or a multiple of the step."""
    factor, lanes = index.coefficient("#step"), index.coefficient("#lane")
    rest = index.without("#step").without("#lane")
    shown = factor is not None and bool(factor.terms) and not any("@" in a or "threadIdx" in a for a in index.atoms)
    if write.lane is None:
        shown = shown and not rest.mentions("#step")
    else:
        shown = shown and lanes == Polynomial.constant(1) and factor == Polynomial.of(write.lane.bound, names)
    if not shown:
        raise NotKept(f"cannot prove that iterations access disjoint elements of {array.name}", write.element)


def _require_same_steps(array: Array, write: Use, read: Use, names: Names) -> None:
    first, second = write.loop, read.loop
    if read.element.start_byte < write.element.start_byte or first.node.parent != second.node.parent:
        raise NotKept(f"cannot prove that every read of {array.name} follows a write", read.element)
    if not all(is_invariant(n, names.source.body, names) for o in (first, second) for n in (o.start, o.bound, o.step) if n):
        raise NotKept(f"the range of {second.variable} may have changed since {array.name} was written", second.node)
    if first.ends_below != second.ends_below or _range(first, names) != _range(second, names):
        raise NotKept(f"{array.name} is read in a loop with another range than the one that writes it", second.node)
    lanes = [None if use.lane is None else Polynomial.of(use.lane.bound, names) for use in (write, read)]
    if lanes[0] != lanes[1]:
        raise NotKept(f"the iterations that write and read {array.name} have different numbers of elements", read.element)


def _range(loop: Loop, names: Names) -> list[Polynomial]:
    return [Polynomial.of(node, names) for node in (loop.start, loop.bound, loop.step) if node is not None]
