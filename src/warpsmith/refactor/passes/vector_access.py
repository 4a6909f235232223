"""`vector_access`: neighbouring elements by one wide access, instead of one element at a time.

Exposes VEC, the elements of an access: 1 as it was; else a thread takes VEC neighbouring elements, loads and stores them as packs
aligned to their size (16 bytes is what a GPU moves best), and what the last whole pack leaves is done one by one.

    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = f(x[i]);       // a loop that threads share, or
    if (i < n) out[i] = f(x[i]);                                              // a flat kernel with its guard

Precondition: steps are independent, and depend on the thread only through their number; a step makes its accesses whatever the
data. Accesses that do not follow the step's number one by one stay as they are. Results are the same bit for bit.
Constraints: rows begin at multiples of VEC elements; buffers themselves begin at pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.geometry import Geometry, is_rest
from warpsmith.refactor.loops.packing import PackWriter, alignment_rules, known_extents
from warpsmith.refactor.mapping.flat import FLAT, FlatKernel, changeable, flat_indices, flat_kernel, reaches_end
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    Unmet,
    answered,
    axis,
    names_of,
    on_workloads,
    require,
    require_readable,
    those_that_can,
)
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Loop, Names, Polynomial, loops_of
from warpsmith.source.effects import declares_shared, is_invariant, leaves, updates_atomically, waits
from warpsmith.source.independence import carried, dependence
from warpsmith.source.statements import Piece, indent_unit, pieces_of
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import is_within
from warpsmith.source.uniform import Uniformity
from warpsmith.source.vectorizable_accesses import Pack, PackedSteps

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (2, 4, 8)
_WIDEST_BYTES = 32
_INTEGERS = frozenset(
    {"int", "long", "long long", "int32_t", "int64_t", "unsigned", "unsigned int", "uint", "uint32_t", "uint64_t", "size_t",
     "unsigned long long", "ulong", "ptrdiff_t"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Packed:
    """A loop with what of it is packed; `first` is the name of a pack's first step."""

    loop: Loop
    pieces: tuple[Piece, ...]
    packs: tuple[Pack, ...]
    first: str


class VectorAccess:
    name = "vector_access"
    summary = "adjacent elements are read and written with wide aligned accesses"
    stage = Stage.RESTRUCTURE
    priority = 15  # what it makes is a strided loop or a flat kernel again: those that change these come after
    concerns = frozenset({Concern.COALESCING, Concern.TRAFFIC})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names = names_of(subject)
    writer = PackWriter(
        subject.source,
        fresh_name(subject, "VEC"),
        free := FreeNames(subject.source.text),
        indent_unit(subject.source.function, subject.source.body, subject.source.tree),
        free.take("Pack"),
    )
    index = next(iter(flat_indices(subject.source.body, names)), None)
    loops = list(_shared_loops(subject, names))
    if index is not None and not loops:
        return _flat(subject, names, writer, flat_kernel(subject, names, *index))
    require(loops, "the kernel has no loop distributed over threads and no index that is the thread's index in the grid")
    return _strided(subject, names, writer, loops)


def _strided(subject: Subject, names: Names, writer: PackWriter, loops: Sequence[Loop]) -> Rewrite:
    source, variant = subject.source, subject.variant
    found = those_that_can(loops, lambda loop: _packed(subject, names, loop, writer.free.take("first")))
    reason = dependence([p.loop for p in found], names)
    require(reason is None, f"{reason}", found[0].loop.node)
    packs = [pack for p in found for pack in p.packs]
    edits = [writer.declared(packs), *(writer.strided(p.loop, p.pieces, p.packs, p.first) for p in found)]
    return _chosen(subject, names, writer.vec, packs, found[0].loop.node, replace(variant, text=source.edited(*edits)))


def _shared_loops(subject: Subject, names: Names) -> Iterator[Loop]:
    geometry = Geometry.of(subject, names)
    for loop in loops_of(subject.source.body, names):
        share = geometry.thread_share(loop, names)
        if share is None or not share.mentions("threadIdx.x") or is_rest(loop, names):
            continue
        if geometry.base(loop, share, names) is None:
            yield loop


def _packed(subject: Subject, names: Names, loop: Loop, first: str) -> _Packed:
    """Raises Unmet where steps cannot be done by other threads, or nothing in them is to be packed."""
    i, node, body = loop.variable, loop.node, loop.body
    assert loop.step is not None
    require(loop.type in _INTEGERS and loop.ends_below, f"the loop over {i} is not an integer loop with `<`", node)
    steady = all(is_invariant(part, body, names) for part in (loop.start, loop.bound, loop.step))
    require(steady and not loop.changes_variable(names), f"the range of {i} may change while the loop runs", node)
    require(not leaves(body), f"an iteration can leave the loop over {i}", node)
    together = waits(body, names) or declares_shared(body, names)
    require(not together, f"threads cooperate inside the loop over {i}", node)
    through = sorted(set(carried(loop, names)))
    require(not through, f"{', '.join(through)} is carried between iterations over {i}", node)
    axes = [a for a in "xyz" if Polynomial.of(loop.start, names).mentions(f"threadIdx.{a}")]
    blocks = [a for a in "xyz" if Polynomial.of(loop.step, names).mentions(f"gridDim.{a}")]
    same = Uniformity(names, body, {i}, axes, blocks)
    own = same.own_name(body) or same.own_name(loop.bound) or same.way_there(node)
    require(own is None, f"cannot prove that {own} is uniform, so iterations over {i} cannot move to another thread", node)
    pieces = pieces_of(body, subject.source.tree)
    steps = PackedSteps(names, [p.node for p in pieces], i, Polynomial.atom(loop.atom), first)
    return _Packed(loop, tuple(pieces), tuple(_packs(subject, names, steps, i)), first)


def _packs(subject: Subject, names: Names, steps: PackedSteps, variable: str) -> list[Pack]:
    """Those that can be aligned: to four elements, or else to two. An odd neighbour (`x[i - 1]`) stays a single element."""
    objection = steps.objection()
    require(objection is None, f"{objection}")
    found = steps.packs()
    require(found, f"no unconditional access has unit stride in {variable}")
    rules = [_alignment(subject, names, [pack]) for pack in found]
    for width in (4, 2):
        aligned = [pack for pack, wanted in zip(found, rules, strict=True) if all(_holds(subject, r, width) for r in wanted)]
        if aligned:
            return aligned
    broken = "; ".join(dict.fromkeys(rule.expression for wanted in rules for rule in wanted))
    raise Unmet(f"on some workload no access would be aligned to 2 elements ({broken})")


def _flat(subject: Subject, names: Names, writer: PackWriter, flat: FlatKernel) -> Rewrite:
    source, variant, i = subject.source, subject.variant, flat.variable
    together = teamwork(source)
    require(together.none, f"the kernel {together.described()}: the result may depend on which elements share a thread")
    require(not updates_atomically(source.body, names), "the kernel updates memory atomically")
    require(changeable(flat.type) in _INTEGERS, f"the index {i} is of type {flat.type}", flat.declaration.node)
    require(reaches_end(subject, names, flat), f"cannot prove that the launch covers the guard's range of {i}", flat.guard.node)
    require(all(p.start >= flat.guard.node.end_byte or is_within(p.node, flat.guard.node) for p in flat.work),
            f"{i} is used before its guard", flat.guard.node)  # fmt: skip
    first = writer.free.take("first")
    packs = _packs(subject, names, PackedSteps(names, [p.node for p in flat.work], i, FLAT, first), i)
    text = source.edited(writer.declared(packs), writer.flat(flat, packs, first))
    grid = f"ceildiv({axis(variant.grid, 'x')}, {writer.vec})"
    other = replace(variant, text=text, grid=(grid, *variant.grid[1:]))
    return _chosen(subject, names, writer.vec, packs, flat.declaration.node, other)


def _chosen(subject: Subject, names: Names, vec: str, packs: Sequence[Pack], node: Node, other: Variant) -> Rewrite:
    """Widths that the elements and every workload's rows allow."""
    rules = _alignment(subject, names, packs, vec)
    widest = max(pack.size_bytes for pack in packs)
    values = tuple(v for v in _VALUES if v * widest <= _WIDEST_BYTES and all(_holds(subject, rule, v, vec) for rule in rules))
    require(values, "on some workload not all accesses would be aligned to 2 elements", node)
    choice = Tunable(vec, (1, *values), 1, "adjacent elements per access", subject.source.line_of(node))
    return Rewrite(subject.variant, choice, dict.fromkeys(values, replace(other, rules=(*other.rules, *rules))))


def _alignment(subject: Subject, names: Names, packs: Sequence[Pack], vec: str = "VEC") -> list[Rule]:
    return alignment_rules(packs, names, vec, known_extents(subject.variant.block, subject.variant.grid))


def _holds(subject: Subject, rule: Rule, value: int, vec: str = "VEC") -> bool:
    over = rule.expression.removesuffix(f" % {vec} == 0")
    return all(number % value == 0 for number in on_workloads(subject, over))
