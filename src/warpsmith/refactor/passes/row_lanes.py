"""`row_lanes`: the 32 lanes of a warp share the steps of loops that each thread did alone.

Exposes ROW_LANES: 1 as it was; 32: what one thread did (a row, a query, a pixel with its channels) a warp does. Its lanes take
turns in loops whose steps lie side by side in memory, so that neighbours read neighbours; what such a loop collects is put
together by shuffles. Everything else all lanes do alike, and the first one alone stores it. Blocks become 32 wide and keep their
number of threads, `threadIdx.y` takes the place of `threadIdx.x`, and there are 32 times as many blocks.

Precondition: a block of one dimension whose threads do not work together, and a loop to share: it counts up, nothing
leaves it, and what it changes outside itself it only collects (sums, products, bits, maxima and minima).
Conjectured: that steps do not depend on each other through memory, nor results on how many threads a block has.
Constraints: blocks have whole warps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    Unmet,
    answered,
    axis,
    names_of,
    on_workloads,
    require,
    require_free_block,
    require_readable,
)
from warpsmith.refactor.rows.lane_loops import LANES, by_the_first, shared_loops, written_loop
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Loop, Names
from warpsmith.source.threads import all_launch_uses, launch_uses, teamwork
from warpsmith.source.tree import is_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TURNED = {"threadIdx.x": "threadIdx.y", "blockDim.x": "blockDim.y"}
_KNOWN = {*_TURNED, "blockIdx.x", "gridDim.x"}


class RowLanes:
    name = "row_lanes"
    summary = "lane-strided loops: the lanes of a warp share the loops of each thread"
    stage = Stage.RESTRUCTURE
    priority = 10
    concerns = frozenset({Concern.COALESCING, Concern.PARALLELISM, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    require(
        source.language is Language.CUDA and subject.limits.warp_size == LANES, f"warps do not have {LANES} lanes on all devices"
    )
    require_free_block(source)
    together = teamwork(source)
    require(together.none, f"the kernel {together.described()}: its threads already share the work")
    sides = (axis(extents, name) for extents in (variant.grid, variant.block) for name in "yz")
    require(all(side == "1" for side in sides), "the launch has several dimensions")
    _require_own_place(subject, names)
    loops = shared_loops(source.body, names)
    require(loops, "no per-thread loop has iterations that access adjacent elements")
    threads = variant.block[0]
    require(all(n % LANES == 0 for n in on_workloads(subject, threads)), f"blocks of {threads} threads are not whole warps")
    free = FreeNames(source.text)
    edits = [edit for loop in loops for edit in written_loop(loop, names, free)]
    edits += [*_turned(source.body, names, loops), *by_the_first(source.body, names, loops)]
    made = replace(
        variant,
        text=source.edited(*edits),
        grid=(f"({variant.grid[0]}) * {LANES}",),
        block=(str(LANES), f"({threads}) / {LANES}"),
        rules=(*variant.rules, Rule(f"({threads}) % {LANES} == 0", "blocks must consist of whole warps")),
    )
    lines = ", ".join(str(source.line_of(loop.node)) for loop in loops)
    choice = Tunable(
        fresh_name(subject, "ROW_LANES"),
        (1, LANES),
        1,
        "lanes of a warp that share the work of one thread",
        source.line_of(loops[0].node),
        likely=(LANES,) if subject.limits.has_banked_scratchpad else (),  # on a CPU shuffles may cost more than gathers
        assumes=f"the iterations of the loops at line {lines} are independent, and results do not depend on the block's size",
    )
    return Rewrite(variant, choice, {LANES: made})


def _require_own_place(subject: Subject, names: Names) -> None:
    """The kernel itself asks who the thread is, along x only."""
    source = subject.source
    own = launch_uses(source.body, names)
    for name, nodes in all_launch_uses(source, names).items():
        require(name in _KNOWN, f"{text_of(nodes[0])} is used", nodes[0])
        if len(nodes) > len(own.get(name, ())):
            raise Unmet(f"a called function uses {name}")


def _turned(body: Node, names: Names, loops: list[Loop]) -> Iterator[Edit]:
    """A row of threads has the place that one thread had."""
    headers = [part for loop in loops for part in (loop.start, loop.step) if part is not None]
    for name, nodes in launch_uses(body, names).items():
        for node in nodes if name in _TURNED else ():
            if not any(is_within(node, header) for header in headers):
                yield Edit(node.start_byte, node.end_byte, _TURNED[name])
