"""How far apart neighbouring threads touch memory, access by access: what makes a wide load, or a gather.

`x[row * n + i]` with `i` from threadIdx.x on is 1 element apart; `x[w]` is the same for all; `x[row * n]` with a row for each
thread is `n` apart. An index that is itself read from memory, or goes by a division, is not told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import place_of
from warpsmith.source.kernel import KernelSource
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import LOOPS, ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_LANE = "threadIdx.x"
_VARIABLE = re.compile(r"[A-Za-z_]\w*@\d+")
_VARYING = re.compile(r"threadIdx\.x|\[|atomic|shfl")
_LONGEST = 60  # characters of an access
_MOST_TRIPS = 16  # of a loop that is no more than its body several times over
_MOST_STEPS = 4  # from a variable to what it began with, and on


@dataclass(frozen=True, slots=True)
class Access:
    """`apart`: elements between neighbouring threads, `0` the same for all; None: not told. `depth`: long loops around it."""

    line: int
    text: str
    apart: str | None
    depth: int
    is_written: bool


def lane_accesses(source: KernelSource, parameters: Collection[str] = ()) -> tuple[Access, ...]:
    """Of memory in the kernel's own body, each place once, in the order of their lines."""
    names = Names(source, parameters)
    lanes = _Lanes(names)
    short = {loop.node.id for loop in loops_of(source.body, names) if _is_short(loop)}
    found: dict[tuple[int, str], Access] = {}
    for node in _elements(source.body):
        place = place_of(node, names)
        if place is not None:
            apart = {lanes.apart(address) for address in place.addresses}
        elif _is_shared(node):
            last, *before = _indices(node, names)  # in another row, elements are told apart by the row's length, too
            apart = {lanes.apart(last) if all(lanes.apart(index) == "0" for index in before) else None}
        else:  # a thread's own array
            continue
        text = " ".join(text_of(node).split())[:_LONGEST]
        depth = sum(around.type in LOOPS and around.id not in short for around in ancestors(node))
        told = apart.pop() if len(apart) == 1 else None
        access = Access(source.line_of(node), text, told, depth, _is_written(node))
        found.setdefault((access.line, access.text), access)
    return tuple(found.values())


def _is_short(loop: Loop) -> bool:
    """Unrolled, or of a few steps that the text tells."""
    return loop.pragma is not None or (loop.trips is not None and loop.trips <= _MOST_TRIPS)


def _elements(within: Node) -> Iterator[Node]:
    """Without the arrays of arrays in them."""
    for node in of_kind(within, "subscript_expression"):
        parent = node.parent
        if parent is None or parent.type != "subscript_expression" or unwrapped(field(parent, "argument")) != node:
            yield node


def _is_written(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node


def _indices(node: Node, names: Names) -> Iterator[Polynomial]:
    """Of an element of an array of arrays, the innermost first."""
    while node.type == "subscript_expression":
        yield Polynomial.of(field(node, "indices").named_children[0], names)
        node = unwrapped(field(node, "argument"))


def _is_shared(node: Node) -> bool:
    """Of an array that the function declares."""
    array = node
    while array.type == "subscript_expression":
        array = unwrapped(field(array, "argument"))
    root, name = array, text_of(array)
    while root.parent is not None:
        root = root.parent
    declared = (d for d in of_kind(root, "declaration") if re.search(rf"\b{re.escape(name)}\s*\[", text_of(d)))
    return any(re.search(r"\b(?:__shared__|__local|local)\b", text_of(d)) for d in declared)


class _Lanes:
    """What becomes of an expression from one thread to the next along x."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._starts = {loop.atom: Polynomial.of(loop.start, names) for loop in loops_of(names.source.body, names)}

    def apart(self, address: Polynomial) -> str | None:
        found = self._change(address, _MOST_STEPS)
        return None if found is None else re.sub(r"@\d+", "", str(found))

    def _change(self, value: Polynomial, steps: int) -> Polynomial | None:
        total = Polynomial.constant(0)
        for monomial, factor in value.terms.items():
            changes = [(place, self._change_of(atom, steps)) for place, atom in enumerate(monomial)]
            moving = [(place, change) for place, change in changes if change is None or change.terms]
            if not moving:
                continue
            place, change = moving[0]
            if change is None or len(moving) > 1:
                return None
            rest = Polynomial({(*monomial[:place], *monomial[place + 1 :]): factor})
            total = total + rest * change
        return total

    def _change_of(self, atom: str, steps: int) -> Polynomial | None:
        """Nothing where it is the same for all; None where it is not told."""
        if atom == _LANE:
            return Polynomial.constant(1)
        if _VARIABLE.fullmatch(atom):
            start = self._starts.get(atom) or self._beginning(atom)
            return self._change(start, steps - 1) if start is not None and steps else None
        if _VARYING.search(atom):
            return None
        inside = [self._change_of(variable, steps - 1) for variable in _VARIABLE.findall(atom)] if steps else [None]
        return Polynomial.constant(0) if all(change is not None and not change.terms for change in inside) else None

    def _beginning(self, atom: str) -> Polynomial | None:
        """What a variable that is not a loop's is declared with: what it goes by afterwards is the same for all threads."""
        name, _, at = atom.partition("@")
        for node in of_kind(self._names.source.body, "init_declarator", "array_declarator"):
            if node.start_byte == int(at):
                is_array = node.type == "array_declarator"
                return Polynomial.atom(name) if is_array else Polynomial.of(field(node, "value"), self._names)
        return None
