"""`grid_share`: where a block's part of a grid-stride loop lies.

Exposes: whether the steps of a block are a whole grid apart, as in
`i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x`, or one contiguous share of the range. Contiguous,
a block reads its memory in one stream, which caches and prefetchers like; a grid apart, all blocks work in the same region.

Precondition: a step leaves nothing to the next but sums, maxima and their like, and writes to places of its own; if there are
sums, what the kernel stores in the end is not any one thread's or block's result. Every step is still done once. Sums are added
up in another order: for floats that is within the tolerance, not bit for bit.
Parameter: SHARE, 0 as it was, 1 contiguous. Constraints: none; a block whose share begins behind the range does nothing.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.loops.collecting import require_no_own_results
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable
from warpsmith.refactor.writing import FreeNames, cast
from warpsmith.source import Edit, KernelSource, Loop, Names, loops_of
from warpsmith.source.access_paths import Place, read_places, written_places
from warpsmith.source.accumulators import combination
from warpsmith.source.effects import is_invariant, leaves, waits
from warpsmith.source.independence import carried, follows
from warpsmith.source.threads import spelled
from warpsmith.source.tree import is_within, of_kind
from warpsmith.source.uniform import Uniformity

_SIGNED = {"int", "long", "long long", "int32_t", "int64_t"}


class GridShare:
    name = "grid_share"
    summary = "a block's share of a grid-stride loop is grid-strided, or contiguous"
    stage = Stage.RESTRUCTURE
    priority = 50  # before steps are rewritten, after work is mapped to threads
    concerns = frozenset({Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _shared(subject))


def _shared(subject: Subject) -> Answer:
    require_readable(subject)
    source, names = subject.source, names_of(subject)
    loops = _grid_loops(subject, names)
    require(loops, "the kernel has no grid-stride loop")
    writes = list(written_places(source.body, names))
    sums = [name for loop in loops for name in _require_shareable(loop, names, writes)]
    require_no_own_results(sums, loops, names)
    free = FreeNames(source.text)
    edits = [edit for loop in loops for edit in _contiguous(source, loop, free)]
    meaning = "0: a block's iterations are grid-strided · 1: a block's share is contiguous"
    choice = Tunable(fresh_name(subject, "SHARE"), (0, 1), 0, meaning, source.line_of(loops[0].node))
    return Rewrite(subject.variant, choice, {1: replace(subject.variant, text=source.edited(*edits))})


def _grid_loops(subject: Subject, names: Names) -> list[Loop]:
    """Loops that start at the thread's place in the grid; the rest of another one starts elsewhere, and is short."""
    geometry = Geometry.of(subject, names)
    found = []
    for loop in loops_of(subject.source.body, names):
        share = geometry.thread_share(loop, names)
        if share is not None and share.mentions("blockIdx.x") and share.mentions("threadIdx.x") and loop.type in _SIGNED:
            in_block = loop.node.parent is not None and loop.node.parent.type == "compound_statement"
            if geometry.base(loop, share, names) is None and loop.ends_below and in_block:
                found.append(loop)
    return found


def _require_shareable(loop: Loop, names: Names, writes: list[Place]) -> list[str]:
    """The names of its sums."""
    variable = loop.variable
    assert loop.step is not None
    steady = all(is_invariant(part, loop.body, names) for part in (loop.start, loop.bound, loop.step))
    require(steady and not loop.changes_variable(names), f"the range of {variable} may change while the loop runs", loop.node)
    ends = leaves(loop.body) or any(True for _ in of_kind(loop.body, "return_statement"))
    require(not ends, f"an iteration can leave the loop over {variable}", loop.node)
    require(not waits(loop.body, names), f"the loop over {variable} contains a barrier", loop.node)
    for write in writes:
        placed = all(follows(address, loop) for address in write.addresses) and "?" not in write.roots
        require(
            not is_within(write.node, loop.body) or placed,
            f"cannot prove that iterations over {variable} write disjoint elements",
            write.node,
        )
    written = {root for write in writes for root in write.roots}
    for read in read_places(loop.body, names):
        require(not read.roots & written, f"an iteration over {variable} may read what another writes", read.node)
    sums = sorted(set(carried(loop, names)))
    for name in sums:
        require(combination(name, loop.body), f"{name} is carried between iterations over {variable}", loop.node)
    same = Uniformity(names, loop.body, {variable, *sums}, blocks="x")
    own = same.own_name(loop.body) or same.way_there(loop.node)
    require(
        own is None,
        f"cannot prove that {own} is grid-uniform, so iterations over {variable} cannot move to another block",
        loop.node,
    )
    return sums


def _contiguous(source: KernelSource, loop: Loop, free: FreeNames) -> list[Edit]:
    assert loop.step is not None
    language, kind, text = source.language, loop.type, source.text_of
    width, share, begin, end = (free.take(name) for name in ("width", "share", "begin", "end"))
    blanks = source.tree.indentation(loop.node)
    block, thread = (cast(language, kind, spelled(name, language)) for name in ("blockIdx.x", "threadIdx.x"))
    bound = text(loop.bound) if text(loop.bound).isidentifier() else cast(language, kind, text(loop.bound))
    lines = [
        "// A block has as many whole steps as before, but in a row.",
        f"const {kind} {width} = {spelled('blockDim.x', language)};",
        f"const {kind} {share} = (({bound} - 1) / {cast(language, kind, text(loop.step))} + 1) * {width};",
        f"const {kind} {begin} = {block} * {share};",
        f"const {kind} {end} = min({bound}, {begin} + {share});",
    ]
    where = source.tree.line_start(loop.pragma or loop.node)
    return [
        Edit(where, where, "".join(f"{blanks}{line}\n" for line in lines)),
        Edit(loop.start.start_byte, loop.start.end_byte, f"{begin} + {thread}"),
        Edit(loop.bound.start_byte, loop.bound.end_byte, end),
        Edit(loop.step.start_byte, loop.step.end_byte, width),
    ]
