"""`joined_rows`: of the rows that a block does, each sweep over one is joined with the next sweep over the row before.

Exposes JOINED_ROWS: 0 one row after the other; 1 while one row is in its last sweep, the next row is in the one before, and the
row after in its first. A step does all of it, so loads of one row are on their way while another is computed with, and a sweep
that waits for memory is beside one that waits for arithmetic. Where a block begins and ends, rows that lack neighbours are swept
alone. How many rows a block does is the parameter of `rows_per_block`, ROWS_PER_BLOCK; without that pass it comes with this one.

Precondition: that of `rows_per_block`; a row is gone over at least twice by loops over the same range, which is the same for all
rows; nothing but declarations stands before the first; what is in shared memory does not outlive a stage (`source.row_stages`).
That the statements of different blocks may be mixed follows from blocks not waiting for each other; those of one block keep their
order, and its barriers. Constraints: none.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable, Variant
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.passes.rows_per_block import line_of_rows, rows_parameter
from warpsmith.refactor.preconditions import Unmet, answered, names_of, require
from warpsmith.refactor.rows.block_loop import block_indices, block_loop
from warpsmith.refactor.rows.joined_code import JoinedRowsWriter
from warpsmith.refactor.rows.row_loop import count_argument, one_row, rows_grid
from warpsmith.source.row_stages import Unstaged, row_stages


class JoinedRows:
    name = "joined_rows"
    summary = "software pipelining over the rows of a block: the next row's loads are interleaved with this row's arithmetic"
    stage = Stage.RESTRUCTURE
    priority = 85  # after what changes the sweeps and what is kept between them, before what does several steps at a time
    concerns = frozenset({Concern.PARALLELISM, Concern.LOCALITY, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    several = one_row(subject)
    if several is not None:
        made, line = _joined(Subject(subject.kernel, subject.limits, several.variant, subject.parameters), several.name)
    else:
        made, line = _alone(subject)
    meaning = "rows of a block. 0: sequential · 1: each sweep is interleaved with the next sweep over the previous row"
    return Rewrite(subject.variant, Tunable(fresh_name(subject, "JOINED_ROWS"), (0, 1), 0, meaning, line), {1: made})


def _alone(subject: Subject) -> tuple[Variant, int]:
    """Where a block does one row: how many it does when they are joined is then a parameter of this form."""
    plain = Subject(subject.kernel, subject.limits, subject.variant)
    rows = rows_parameter(plain, subject.source.line_of(subject.source.body))
    made, line = _joined(subject, rows.name)
    # Other forms have it from rows_per_block: there a block does several rows, and here one, which has no neighbour.
    require(rows.name not in subject.parameters, "a block does one row")
    return replace(made, tunables=(*made.tunables, replace(rows, line=line))), line


def _joined(subject: Subject, name: str) -> tuple[Variant, int]:
    """The form of a block that does `name` rows, made of one that does one row; and where its first sweep is."""
    names, variant = names_of(subject), subject.variant
    line_of_rows(subject, names)
    loop = block_loop(subject, names)
    require(not loop.is_left_early, "a row can be left early")
    require(not loop.copies, "a parameter is changed")
    blocks = [n for piece in loop.work for n in block_indices(piece.node, names)]
    try:
        stages = row_stages(loop.work, blocks, names)
    except Unstaged as why:
        raise Unmet(why.reason, why.node) from None
    count = count_argument(subject)
    text = JoinedRowsWriter(loop, stages, blocks, name).text(count)
    made = replace(variant, text=text, grid=rows_grid(variant.grid, name, count))
    return made, subject.source.line_of(stages.stages[0].sweep.node)
