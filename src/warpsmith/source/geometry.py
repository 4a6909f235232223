"""What a kernel takes for granted about its launch: how many threads a block has along an axis, and how far blocks are apart.

A kernel with fixed sizes says so in several ways: in strides (`i += kThreads`), in how a thread's coordinate is put together
(`blockIdx.y * kTileM + threadIdx.y * kThreadM + i`), in the extents of arrays that threads index. Extents are texts of the
language of kernel.toml over the parameters; `blockDim_x` and its like stand for the launch's own names.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.maximal_expressions import SUMS, is_alias, outer, whole_expressions
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

    from warpsmith.source.kernel import KernelSource

_LAUNCH_NAME = re.compile(r"\b(blockDim|gridDim)\.([xyz])")
_PLAIN = re.compile(r"threadIdx\.[xyz]")
_GROUP = re.compile(r"\(threadIdx\.([xyz])(?:/(\w+)|>>(\d+))\)")  # a thread's group of so many


class Strength(IntEnum):
    """How directly the source says it."""

    EXTENT = 0  # an array that a thread indexes has room for so many
    COORDINATE = 1  # blocks lie side by side if there are so many
    DIGIT = 2  # a thread's own steps interleave with its neighbours' if there are so many
    STRIDE = 3  # a loop over threads steps by so many, or __launch_bounds__ names them


@dataclass(frozen=True, slots=True)
class Threads:
    """The kernel takes the block to have `extent` threads along the axes together (`x`, `y`, `xy`, or all of them: empty)."""

    axes: str
    extent: str
    strength: Strength
    line: int


@dataclass(frozen=True, slots=True)
class Share:
    """Along an axis, neighbouring blocks are `extent` apart."""

    axis: str
    extent: str
    line: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """`per_block` has, by axis, the line of an element of an argument that belongs to one block; `mixed`, where threads go over a
    block's share by a number that several of their coordinates are mixed in.
    """

    threads: tuple[Threads, ...]
    shares: tuple[Share, ...]
    per_block: Mapping[str, int]
    mixed: Mapping[str, int]


def geometry_of(names: Names, defaults: Mapping[str, int]) -> Geometry:
    """All that the kernel and the functions it reaches say. `defaults` are the parameters' values as the author had them."""
    reader = _Reader(names, defaults)
    return Geometry(
        tuple(reader.threads()), tuple(dict.fromkeys(reader.shares())), dict(reader.per_block()), dict(reader.mixed())
    )


def as_text(polynomial: Polynomial) -> str | None:
    """The polynomial as an expression of kernel.toml; None where an atom has no such form."""
    if not polynomial.terms:
        return "0"
    text = _LAUNCH_NAME.sub(r"\1_\2", str(polynomial))
    if re.search(r"[@.<>&\[]|::", text):
        return None
    try:
        Expression.parse(text)
    except InputError:
        return None
    return text


class _Reader:
    def __init__(self, names: Names, defaults: Mapping[str, int]) -> None:
        self.names = names
        self.defaults = defaults
        self.loops: dict[str, Loop] = {loop.atom: loop for body in names.source.reached() for loop in loops_of(body, names)}
        wholes = (n for body in names.source.reached() for n in whole_expressions(body, SUMS) if not is_alias(n, names))
        self.sums = [(node, Polynomial.of(node, names)) for node in wholes]

    def threads(self) -> Iterator[Threads]:
        yield from self._bounds()
        for loop in self.loops.values():
            yield from self._strides(loop)
        for node, polynomial in self.sums:
            yield from self._groups(node, polynomial)
            for axis in "xyz":
                yield from self._coordinate(node, polynomial, axis)
        for array in arrays_of(self.names):
            yield from self._indexed(array)

    def shares(self) -> Iterator[Share]:
        for node, polynomial in self.sums:
            for axis in "xyz":
                extents = [self._weight(polynomial, f"blockIdx.{axis}")]
                if extents == [None]:
                    extents = list(self._rows(polynomial, axis))
                for extent in extents:
                    if extent is not None and extent != "1":
                        yield Share(axis, extent, self.names.source.line_of(node))

    def _rows(self, polynomial: Polynomial, axis: str) -> Iterator[str | None]:
        """`(blockIdx.y * ROWS + threadIdx.y) * pitch`: blocks are so many rows apart, however long those are.

        An element may have parts, `* pitch * 4`, or a thread several rows: with and without what its own place is multiplied by.
        """
        block, thread = (polynomial.coefficient(f"{name}.{axis}") for name in ("blockIdx", "threadIdx"))
        if block is None or not block.terms or thread is None or len(thread.terms) != 1:
            return
        (row, parts) = next(iter(thread.terms.items()))
        lengths = tuple(atom for atom in row if atom in {p.name for p in self.names.source.parameters})
        known = {f"blockDim.{axis}", *self.names.parameters}
        for unit, factor in ((lengths, 1), (row, parts)):
            quotient = block.divided(unit, factor)
            if quotient is not None and quotient.atoms and quotient.atoms <= known:
                yield as_text(quotient)

    def per_block(self) -> Iterator[tuple[str, int]]:
        """`out[blockIdx.x] = sum`: there are as many such elements as blocks."""
        pointers = {p.name for p in self.names.source.parameters if p.depth}
        for node, polynomial in self.sums:
            based = polynomial.atoms & pointers or self._base(node) in pointers
            for axis in "xyz":
                block, thread = (polynomial.coefficient(f"{name}.{axis}") for name in ("blockIdx", "threadIdx"))
                if based and block == Polynomial.constant(1) and thread is not None and not thread.terms:
                    yield axis, self.names.source.line_of(node)

    def mixed(self) -> Iterator[tuple[str, int]]:
        """`blockIdx.x * kWarps + (threadIdx.y * blockDim.x + threadIdx.x) / 32`."""
        for node, polynomial in self.sums:
            unclear = [a for a in polynomial.atoms if "threadIdx." in a and not _PLAIN.fullmatch(a) and not _GROUP.fullmatch(a)]
            for axis in "xyz" if unclear else "":
                if self._weight(polynomial, f"blockIdx.{axis}") is not None:
                    yield axis, self.names.source.line_of(node)

    def _base(self, node: Node) -> str:
        """The name of what the expression indexes."""
        parent = outer(node)
        while parent is not None and parent.type == "subscript_argument_list":
            parent = parent.parent
        return text_of(subscripts_of(parent)[1]) if parent is not None and parent.type == "subscript_expression" else ""

    def _bounds(self) -> Iterator[Threads]:
        for node in (c for c in self.names.source.function.children if c.type == "launch_bounds"):
            first = next((c for c in node.named_children if c.type != "comment"), None)
            extent = None if first is None else self.names.expression(first)
            if extent is not None:
                yield Threads("", extent, Strength.STRIDE, self.names.source.line_of(node))

    def _strides(self, loop: Loop) -> Iterator[Threads]:
        if loop.step is None:
            return
        start, step = Polynomial.of(loop.start, self.names), Polynomial.of(loop.step, self.names)
        weights = {axis: w for axis in "xyz" if (w := self._weight(start, f"threadIdx.{axis}")) is not None}
        line = self.names.source.line_of(loop.node)
        if not weights:
            return
        blocks = [axis for axis in "xyz" if start.mentions(f"blockIdx.{axis}")]
        if blocks:
            own = self._weight(start, f"blockIdx.{blocks[0]}") if len(blocks) == 1 and list(weights) == blocks else None
            if own is not None:
                yield Threads(blocks[0], _ratio(own, weights[blocks[0]]), Strength.STRIDE, line)
            return
        extent = as_text(step)
        if extent is None or "gridDim" in extent:
            return
        ordered = sorted(weights, key=lambda axis: (self._at_default(weights[axis]), axis))
        lowest = weights[ordered[0]]
        yield Threads("".join(sorted(ordered)), _ratio(extent, lowest), Strength.STRIDE, line)
        for inner, wider in pairwise(ordered):
            yield Threads(inner, _ratio(weights[wider], weights[inner]), Strength.STRIDE, line)

    def _coordinate(self, node: Node, polynomial: Polynomial, axis: str) -> Iterator[Threads]:
        """`blockIdx * A + threadIdx * B + j * C`: what comes next above B in the order of weights is B times the extent."""
        own = self._weight(polynomial, f"threadIdx.{axis}")
        if own is None:
            return
        line = self.names.source.line_of(node)
        digits = [d for atom in polynomial.atoms if (d := self._digit(polynomial, atom, own)) is not None]
        above = [w for w in digits if self._at_default(w) >= self._at_default(own)]
        if above:
            yield Threads(axis, _ratio(min(above, key=self._at_default), own), Strength.DIGIT, line)
        share = self._share(polynomial, axis)
        if share is not None and not above:
            yield Threads(axis, _ratio(share, own), Strength.COORDINATE, line)

    def _share(self, polynomial: Polynomial, axis: str) -> str | None:
        """How far blocks are apart where threads lie along the axis; `blockIdx.x * ROWS + threadIdx.y`: blocks along another."""
        others = [a for a in "xyz" if a != axis and not polynomial.mentions(f"threadIdx.{a}")]
        found = [w for a in (axis, *others) if (w := self._weight(polynomial, f"blockIdx.{a}")) is not None]
        return found[0] if len(found) == 1 or self._weight(polynomial, f"blockIdx.{axis}") is not None else None

    def _groups(self, node: Node, polynomial: Polynomial) -> Iterator[Threads]:
        """`blockIdx.x * kWarps + threadIdx.x / 32`: groups of 32 threads, as many to a block as blocks are apart."""
        for atom in polynomial.atoms:
            found = _GROUP.fullmatch(atom)
            if found is None:
                continue
            size = found[2] or str(1 << int(found[3]))
            own = self._weight(polynomial, atom)
            for blocks in "xyz":
                share = self._weight(polynomial, f"blockIdx.{blocks}")
                if own is not None and share is not None and (size.isdigit() or size in self.names.parameters):
                    extent = f"({_ratio(share, own)}) * {size}"
                    yield Threads(found[1], extent, Strength.DIGIT, self.names.source.line_of(node))

    def _digit(self, polynomial: Polynomial, atom: str, own: str) -> str | None:
        """The weight of a loop's step in a thread's coordinate, unless all its steps lie below the thread's own weight."""
        loop = self.loops.get(atom)
        weight = None if loop is None else self._weight(polynomial, atom)
        if loop is None or weight is None:
            return None
        bound = self.names.expression(loop.bound)
        step = "1" if loop.step is None else as_text(Polynomial.of(loop.step, self.names))
        if step is None:
            return None
        if bound is not None and _same(f"({weight}) * ({bound})", own, self.defaults):
            return None
        return weight if step == "1" else f"({weight}) * ({step})"

    def _indexed(self, array: Array) -> Iterator[Threads]:
        """Shared arrays with one element a thread."""
        if not array.is_shared or array.is_dynamic:
            return
        for subscripts in self._subscripts(array):
            for index, extent in zip(subscripts, array.extents, strict=False):
                room, place = self.names.expression(extent), Polynomial.of(index, self.names)
                for axis in "xyz":
                    if room is not None and place == Polynomial.atom(f"threadIdx.{axis}"):
                        yield Threads(axis, room, Strength.EXTENT, self.names.source.line_of(index))

    def _subscripts(self, array: Array) -> Iterator[list[Node]]:
        for body in self.names.source.reached():
            for node in of_kind(body, "subscript_expression"):
                parent = node.parent
                if parent is not None and parent.type == "subscript_expression" and parent.child(0) == node:
                    continue
                indices, base = subscripts_of(node)
                if base.type == "identifier" and text_of(base) == array.name:
                    yield indices

    def _weight(self, polynomial: Polynomial, atom: str) -> str | None:
        """What multiplies the atom, where that is known when the kernel is launched: parameters and the launch's own sizes."""
        found = polynomial.coefficient(atom)
        if found is None or not found.terms:
            return None
        text = as_text(found)
        known = {*self.names.parameters, *(f"{n}_{a}" for n in ("blockDim", "gridDim") for a in "xyz")}
        return text if text is not None and Expression.parse(text).names <= known else None

    def _at_default(self, text: str) -> float:
        # Where the launch's own names occur, nothing is known; such a weight is above all others.
        try:
            return float(Expression.parse(text).evaluate(self.defaults))
        except InputError:
            return float("inf")


def subscripts_of(node: Node) -> tuple[list[Node], Node]:
    """The indices of `a[i][j]`, outermost first, and `a`."""
    indices: list[Node] = []
    while node.type == "subscript_expression":
        listed = field(node, "indices")
        indices[:0] = listed.named_children
        node = unwrapped(field(node, "argument"))
    return indices, node


def indices_into(arrays: Container[str], source: KernelSource) -> Iterator[Node]:
    """All indices by which the kernel, and the functions that it calls, access these arrays."""
    for body in source.reached():
        for node in of_kind(body, "subscript_expression"):
            indices, base = subscripts_of(node)
            if text_of(base) in arrays:
                yield from indices


def _ratio(over: str, under: str) -> str:
    return over if under == "1" else f"({over}) / ({under})"


def _same(left: str, right: str, defaults: Mapping[str, int]) -> bool:
    """Whether two extents are one: equal for the author's values and for others near them."""
    for shift in range(4):
        values = {name: value << (number * shift % 5) for number, (name, value) in enumerate(defaults.items())}
        try:
            if Expression.parse(left).evaluate(values) != Expression.parse(right).evaluate(values):
                return False
        except InputError:
            return False
    return True
