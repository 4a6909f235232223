"""`block_steps`: a block does what several neighbours along x did, in grids that are no lines of rows.

Exposes BLOCK_STEPS: 1 as it was; else the body becomes a loop over as many values of blockIdx.x, with a barrier between them
where memory is shared. For grids of several dimensions, and for blocks of elements whose threads work together; where each block
of a line does a row, `rows_per_block` does it, and `thread_steps` and `coarsen` where threads do not need each other.

Precondition: the kernel knows its place along x by blockIdx.x only, its blocks do not wait for each other, and all threads of a
block leave it together where they wait for each other.
Conjectured: that assembly and libraries do not tell blocks apart, nor keep anything from one to the next.
Constraints: the number divides the grid's extent along x.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.mapping.flat import flat_indices
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.passes.rows_per_block import is_line, require_one_each
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, require
from warpsmith.refactor.rows.block_loop import block_loop
from warpsmith.source.threads import teamwork

_VALUES = (2, 4, 8, 16)


class BlockSteps:
    name = "block_steps"
    summary = "a block does the work of several adjacent blocks sequentially, for grids of any shape"
    stage = Stage.RESTRUCTURE
    priority = 190  # late: what it makes has few choices left
    apart = True
    concerns = frozenset({Concern.PARALLELISM, Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    names, variant = names_of(subject), subject.variant
    together = teamwork(subject.source)
    require(not together.none, "threads do not cooperate: use thread_steps")
    if is_line(subject, names):
        require(next(flat_indices(subject.source.body, names), None), "each block does a row: use rows_per_block")
    require_one_each(subject, names)
    loop = block_loop(subject, names, may_assume=True)
    across = variant.grid[0]
    longest = on_workloads(subject, across)
    most = max(on_workloads(subject, f"({across}) * ({axis(variant.grid, 'y')}) * ({axis(variant.grid, 'z')})"))
    even = [v for v in _VALUES if all(blocks % v == 0 for blocks in longest)]
    require(even, f"the number of blocks along x ({across}) is not always even")
    values = tuple(v for v in even if v * subject.limits.compute_units <= most)
    require(values, f"the launch has at most {most} blocks: merging them would leave compute units idle")
    choice = Tunable(
        fresh_name(subject, "BLOCK_STEPS"),
        (1, *values),
        1,
        "blocks of the original along x per block",
        subject.source.line_of(loop.work[0].node),
        assumes=loop.assumes,
    )
    step = loop.free.take("step")
    made = replace(
        variant,
        text=loop.text(
            [f"// A block does what {choice.name} blocks did, one after the other."],
            f"int {step} = 0; {step} < {choice.name}; ++{step}",
            f"blockIdx.x * {choice.name} + {step}",
        ),
        grid=(tidy(f"({across}) / {choice.name}"), *variant.grid[1:]),
        rules=(*variant.rules, Rule(f"({across}) % {choice.name} == 0", "every block does the same number")),
    )
    return Rewrite(variant, choice, dict.fromkeys(values, made))
