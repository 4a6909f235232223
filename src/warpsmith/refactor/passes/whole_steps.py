"""`whole_steps`: strided loops without bounds checks, several steps at a time.

Exposes: how many steps of a block-stride or grid-stride loop a thread does per trip without checking its bound.

    for (int i = threadIdx.x; i < n; i += blockDim.x) body

becomes a loop over whole steps of all threads, the same number for each of them, and the checked rest. A thread still does its
steps in the same order, so results are the same bit for bit.

Precondition: the loop starts at `base + t` and steps by the number of values that `t` takes, its bound does not change inside,
and a step neither leaves the loop nor waits for other threads. Loops over a tile in shared memory are `tile_rows`' business.
Parameters: ITEMS, 0 as it was, else steps per trip; ACCUMULATORS where a loop collects sums (`loops.accumulators`): more than
one add floats up in another order. Constraints: no more sums than steps; where a row has fewer steps only the rest is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.extents import known_extent
from warpsmith.refactor.geometry import Geometry, is_rest
from warpsmith.refactor.loops.accumulators import Accumulators, accumulators_of, accumulators_rule, accumulators_tunable
from warpsmith.refactor.loops.own_pointers import own_pointers
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import unreadable
from warpsmith.refactor.writing import FreeNames, cast, indented, operand, statements_of
from warpsmith.source import Edit, KernelSource, Loop, Names, loops_of
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dead_work import targets_in
from warpsmith.source.effects import declared_type, declares_shared, is_invariant, leaves, waits
from warpsmith.source.scopes import Declared, Origin
from warpsmith.source.signs import Signs
from warpsmith.source.statements import line_at
from warpsmith.source.threads import spelled
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (1, 2, 4, 8)
_SIGNED = frozenset({"int", "long", "long long", "int32_t", "int64_t", "ptrdiff_t"})
_UNSIGNED = frozenset({"unsigned", "unsigned int", "uint", "uint32_t", "uint64_t", "size_t", "unsigned long long", "ulong"})
_COMMENT = "// Whole steps of all threads first: no bounds checks, and the same number of them for every thread. Then the rest."


class WholeSteps:
    name = "whole_steps"
    summary = "peeled main loops: whole steps of all threads without bounds checks, several per trip, then the remainder"
    stage = Stage.RESTRUCTURE
    priority = 90  # after the passes that recognise loops by their range
    concerns = frozenset({Concern.DIVERGENCE, Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        source = subject.source
        if (unclear := unreadable(source)) is not None:
            return unclear
        names = Names(source, [t.name for t in subject.variant.tunables], subject.kernel)
        loops, refused = _suitable_loops(subject, names)
        if not loops:
            return refused or Declined("the kernel has no block-stride or grid-stride loop")
        line = source.line_of(loops[0][0].node)
        values = _values(subject, names, [loop for loop, _ in loops])
        if not values:
            return Declined("no workload has a whole step of all threads", line)
        name = fresh_name(subject, "ITEMS")
        meaning = "0: bounds checked at every step · otherwise steps per trip of the peeled main loop, without bounds checks"
        sums = accumulators_tunable(subject, [loop for loop, _ in loops], names, values)
        width = known_extent(subject.variant.block[0], {t.name for t in subject.variant.tunables}, "blockDim.x")
        writer = _Writer(source, names, name, FreeNames(source.text), None if sums is None else sums.name, width)
        text = source.edited(*(edit for loop, base in loops for edit in writer.edits(loop, base)))
        other = replace(subject.variant, text=text)
        if sums is not None:
            rules = (*other.rules, accumulators_rule(sums.name, name))
            other = replace(other, tunables=(*other.tunables, sums), rules=rules)
        return Rewrite(
            subject.variant, Tunable(name, (0, *values), 0, meaning, line, likely=values), dict.fromkeys(values, other)
        )


def _suitable_loops(subject: Subject, names: Names) -> tuple[list[tuple[Loop, str | None]], Declined | None]:
    """Those that can be rewritten, none inside another, with where they start; and why the first other one cannot."""
    found: list[tuple[Loop, str | None]] = []
    refused: Declined | None = None
    geometry = Geometry.of(subject, names)
    for loop in loops_of(subject.source.body, names):
        share = geometry.thread_share(loop, names)
        if share is None or not share.mentions("threadIdx.x"):
            continue  # along y or z neighbouring threads do not take neighbouring steps: nothing to gain
        if any(is_within(loop.node, outer.node) for outer, _ in found):
            continue  # it is copied with the loop around it
        base = geometry.base(loop, share, names)
        reason = _objection(loop, base, names)
        if reason is None:
            found.append((loop, None if base is None else subject.source.text_of(base)))
        else:
            refused = refused or Declined(reason, subject.source.line_of(loop.node))
    return found, refused


def _objection(loop: Loop, base: Node | None, names: Names) -> str | None:  # noqa: C901, PLR0911 - one reason each
    name = loop.variable
    assert loop.step is not None  # or its steps were not distributed
    if loop.type not in _SIGNED | _UNSIGNED:
        return f"the index {name} has type {loop.type}, which is not known to be signed or unsigned"
    if base is not None:
        if base == unwrapped(loop.start):
            return f"the start of the loop over {name} is not a sum with the thread's index"
        if loop.type in _UNSIGNED:
            return f"the unsigned loop over {name} may have a bound below its start"
        if is_rest(loop, names):
            return f"the loop over {name} is the remainder of another loop: it has less than a whole step"
    if _fills_a_tile(loop, names):
        return f"the loop over {name} fills a tile in shared memory: tile_rows chooses which threads fill it"
    if not loop.ends_below:
        return f"the loop over {name} includes its bound"
    if loop.changes_variable(names):
        return f"the loop body changes {name}"
    if leaves(loop.body):
        return f"an iteration can leave the loop over {name}"
    if waits(loop.body, names):
        return f"the loop over {name} contains a barrier"
    if declares_shared(loop.body, names):
        return f"the loop over {name} declares shared memory, which cannot be duplicated"
    if not all(is_invariant(node, loop.body, names) for node in (loop.start, loop.bound, loop.step)):
        return f"the range of {name} may change while the loop runs"
    return None


def _fills_a_tile(loop: Loop, names: Names) -> bool:
    """Whether its range is the size of a tile, whatever the data, and what it writes is in shared memory alone."""
    if Signs(names).is_about_data(loop.bound):
        return False
    written = [_written(target, names) for target in targets_in(loop.body)]
    shared = {a.name for a in arrays_of(names) if a.is_shared}
    outside = {d.name for d in written if d is not None and not is_within(d.node, loop.node)}
    return None not in written and bool(outside) and outside <= shared


def _written(target: Node, names: Names) -> Declared | None:
    """What is written to, also through a pointer to a vector: `*reinterpret_cast<float4*>(&tile[row][0])`."""
    declared = (names.source.scopes.declaration(text_of(node), node) for node in of_kind(target, "identifier"))
    return next((found for found in declared if found is not None), None)


def _values(subject: Subject, names: Names, loops: list[Loop]) -> tuple[int, ...]:
    """No more steps per trip than the longest loop of any workload has, for the fewest threads a block may be given."""
    most = 0
    known = {**subject.limits.names(), **{t.name: t.default for t in subject.variant.tunables}}
    for loop in loops:
        assert loop.step is not None
        bound, step = names.expression(loop.bound), names.expression(loop.step) or "warp_size"
        expression = Expression.parse(f"({bound}) / max({step}, 1)") if bound is not None else None
        for workload in subject.kernel.workloads:
            given = {**known, **workload.sizes}
            if expression is None or not expression.names <= given.keys():
                return _VALUES
            most = max(most, int(expression.evaluate(given)))
    return tuple(v for v in _VALUES if v <= most)


@dataclass(frozen=True, slots=True)
class _Header:
    """What a loop's number of threads and the length of its whole steps are called."""

    step: str
    whole: str


class _Writer:
    """Writes whole steps before each loop, which itself does the rest. Loops over the same range share declarations."""

    def __init__(
        self, source: KernelSource, names: Names, items: str, free: FreeNames, sums: str | None, width: str | None
    ) -> None:
        self._source, self._names, self._items, self._free, self._sums = source, names, items, free, sums
        self._width = width  # of a block, where it is known before the launch: each item is then a number away from the first
        self._first, self._item = free.take("first"), free.take("item")
        self._headers: dict[tuple[int, str], _Header] = {}

    def edits(self, loop: Loop, base: str | None) -> list[Edit]:
        tree = self._source.tree
        blanks = tree.indentation(loop.node)
        parent = loop.node.parent
        governed = parent is None or parent.type != "compound_statement"  # by an `if` without braces: declarations need a scope
        header, declarations = self._header(loop, base, shareable=not governed)
        lines = [blanks + _COMMENT, *(blanks + line for line in declarations), *self._whole(loop, header, blanks)]
        begin = tree.line_start(loop.pragma or loop.node)
        if governed:
            lines.insert(0, f"{blanks}{{" if begin != loop.node.start_byte else "{")
        edits = [
            Edit(begin, begin, "\n".join(lines) + "\n"),
            Edit(loop.start.start_byte, loop.start.start_byte, f"{header.whole} + "),
        ]
        return [*edits, Edit(loop.node.end_byte, loop.node.end_byte, f"\n{blanks}}}")] if governed else edits

    def _header(self, loop: Loop, base: str | None, *, shareable: bool) -> tuple[_Header, list[str]]:
        """The names of an earlier loop over the same range where nothing it depends on can have changed; else declarations."""
        text = self._source.text_of
        assert loop.step is not None
        assert loop.node.parent is not None
        key = (loop.node.parent.start_byte, f"{loop.type} {base} {text(loop.bound)} {text(loop.step)}")
        if key in self._headers:
            return self._headers[key], []
        header = _Header(self._free.take("step"), self._free.take("whole"))
        if shareable and self._is_fixed(loop.start, loop.bound, loop.step):
            self._headers[key] = header
        length = text(loop.bound) if base is None else f"{operand(text(loop.bound))} - {operand(base)}"
        trip = f"({header.step} * {self._items})"
        return header, [
            f"const {loop.type} {header.step} = {self._step(text(loop.step))};",
            f"const {loop.type} {header.whole} = {operand(length)} / {trip} * {trip};",
        ]

    def _step(self, text: str) -> str:
        """Registers for the address of each item, and divisions, are what a width that is no number costs."""
        own = spelled("blockDim.x", self._source.language)
        return spelled(self._width, self._source.language) if self._width is not None and text == own else text

    def _is_fixed(self, *expressions: Node) -> bool:
        found = (self._names.definition(n) for e in expressions for n in of_kind(e, "identifier"))
        return all(d.is_fixed or d.origin is Origin.UNKNOWN for d in found)

    def _whole(self, loop: Loop, header: _Header, blanks: str) -> list[str]:
        first, item, trip = self._first, self._item, f"{header.step} * {self._items}"
        sums = Accumulators()
        if self._sums is not None:
            sums = accumulators_of(loop, self._names, self._sums, item, self._free)
        start = operand(self._source.text_of(loop.start))
        if declared_type(loop.start, self._names) != loop.type:
            start = cast(self._source.language, loop.type, self._source.text_of(loop.start))
        own = own_pointers(loop, self._names, start, self._free)
        index = f"{first} + {item} * {header.step}" + (f" + {start}" if own is None else "")
        lines = [
            *sums.before,
            *(own.before if own is not None else ()),
            f"for ({loop.type} {first} = 0; {first} < {header.whole}; {first} += {trip}) {{",
            "#pragma unroll",
            f"  for (int {item} = 0; {item} < {self._items}; ++{item}) {{",
            f"    const {loop.type} {loop.variable} = {index};",
        ]
        edits = [*sums.edits, *(own.edits if own is not None else ())]
        body = indented(statements_of(self._source.tree, loop.body, edits), 2)
        ends = [line_at(line, blanks) for line in ("  }", "}", *sums.after)]
        return [*(line_at(line, blanks) for line in lines), body, *ends]
