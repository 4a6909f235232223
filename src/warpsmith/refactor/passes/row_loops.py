"""`row_loops`: threads that each have one element of their block's row, or one vector, become threads that go over the row.

Exposes ROW_LOOPS: 1 turns `if (threadIdx.x < n) …` into loops over the row's elements in steps of the block, whose size is then
free: BLOCK. A block that has to be as wide as its row is the largest that a device takes, or more; and what other passes do for
rows (`reduction_style`, `whole_steps`, `keep_row`, …) they do for loops.

Precondition: outside such guards all threads do the same, or the first one does something alone; what the elements tell them are
sums or extremes over the block, by functions that are known as such. What an element has between two guards can be found out
again from the inputs. On every workload the original has a thread for each element.
Constraints: whole warps where the sums take shuffles.

Sums come in another order: results agree within the tolerance.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.lifting.rules import WHOLE_WARPS
from warpsmith.refactor.lifting.values import powers_of_two
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    answered,
    axis,
    names_of,
    on_workloads,
    present,
    require,
    require_free_block,
    require_readable,
)
from warpsmith.refactor.rows.element_loops import with_loops
from warpsmith.refactor.rows.one_each import OneEach
from warpsmith.source.threads import teamwork

_FEWEST = 8


class RowLoops:
    name = "row_loops"
    summary = "block-stride loops over a row instead of one thread per element, in blocks of any size"
    stage = Stage.RESTRUCTURE
    priority = -20  # before what looks for loops over rows
    concerns = frozenset({Concern.PARALLELISM, Concern.COALESCING})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    require_free_block(subject.source)
    variant, source = subject.variant, subject.source
    require(source.language is not Language.OPENCL, "work-group reductions are not recognised in OpenCL")
    flat = axis(variant.block, "y") == axis(variant.block, "z") == "1"
    require(flat, "the block has several dimensions")
    kernel = OneEach(subject)
    names, extent = names_of(subject), axis(variant.block, "x")
    bounds = {
        present(
            names.expression(r.guard.limit),
            "the number of elements cannot be computed from the sizes in kernel.toml",
            r.guard.node,
        )
        for r in kernel.regions
    }
    require(len(bounds) == 1, f"guards admit different numbers of threads: {', '.join(sorted(bounds))}")
    threads, elements = on_workloads(subject, extent), on_workloads(subject, bounds.pop())
    reached = all(0 <= needed <= have for have, needed in zip(threads, elements, strict=True))
    require(reached, "some workload has fewer threads than elements")
    by_warps = teamwork(source).by_warps
    whole = not by_warps or all(count % subject.limits.warp_size == 0 for count in threads)
    require(whole, f"lanes exchange values, and a block of {tidy(extent)} threads has an incomplete warp")
    values = powers_of_two(_FEWEST, max(threads))
    require(len(values) > 1, f"the block has at most {max(threads)} threads")
    name, block = fresh_name(subject, "ROW_LOOPS"), fresh_name(subject, "BLOCK")
    line = source.line_of(kernel.regions[0].guard.node)
    size = Tunable(block, tuple(values), values[-1], "threads in a block with block-stride loops over its row", line)
    rules = (*variant.rules, Rule(f"{block} % warp_size == 0", WHOLE_WARPS)) if by_warps else variant.rules
    made = replace(variant, text=with_loops(kernel), block=(block,), tunables=(*variant.tunables, size), rules=rules)
    choice = Tunable(name, (0, 1), 0, "0: one thread per element of a row · 1: block-stride loops over the row", line)
    return Rewrite(variant, choice, {1: made})
