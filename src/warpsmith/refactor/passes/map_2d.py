"""`map_2d`: a flat index that is split by division becomes a two-dimensional block, threadIdx.x along the rows.

Exposes MAP: 1 lays threads out as `blockDim.x * COLS == E` columns and ROWS rows where the original computes `index / E` and
`index % E`. There is no division left, neighbouring threads have neighbouring columns whatever E is, and what depends on the row
only is the same for a whole row of threads. With 2 one thread computes it for all of a row, if that takes calling a function,
and the others find it in shared memory after a barrier (a flat index only). The index is either the thread's place in the grid
(then a block does ROW_STEPS times ROWS rows, and the grid follows) or the variable of a block-stride or grid-stride loop, which
becomes a loop over rows; what depends on the column only is then computed once, before that loop.

Precondition: the threads do not work together, the launch has one dimension, each pair (row, column) is done on its own, E and
the number of rows can be computed by kernel.toml, and a flat index is guarded.
Constraints: COLS divides E; where the guard is on the index, E divides the number of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.mapping.index_split import Region, find_region
from warpsmith.refactor.mapping.map_2d_code import Map2DWriter, Parameters
from warpsmith.refactor.mapping.sorting import HandedOn
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
from warpsmith.source.threads import teamwork

_ROWS = (1, 2, 4, 8, 16, 32)
_COLS = (1, 2, 4, 8, 16)
_STEPS = (1, 2, 4)


class Map2D:
    name = "map_2d"
    summary = "threads in two dimensions instead of an index split by division"
    stage = Stage.RESTRUCTURE
    concerns = frozenset({Concern.COALESCING, Concern.BALANCE, Concern.DIVERGENCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _Attempt(subject).rewrite())


class _Attempt:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._names = names_of(subject)

    def rewrite(self) -> Rewrite:
        subject, variant = self._subject, self._subject.variant
        require_readable(subject)
        require_free_block(subject.source)
        together = teamwork(subject.source)
        require(together.none, f"the kernel {together.described()}: its threads cannot be rearranged")
        one_row = axis(variant.block, "y") == axis(variant.block, "z") == "1"
        require(one_row, "the block already has several dimensions")
        region = find_region(subject, self._names)
        called = Parameters(*(fresh_name(subject, wanted) for wanted in ("ROWS", "COLS", "ROW_STEPS")))
        line = subject.source.line_of(region.split.extent)
        alternatives = {1: self._alternative(region, called, line)}
        meaning = "1: threadIdx.x along a row, threadIdx.y over rows"
        handed_on = region.statements.handed_on
        if handed_on is not None and self._fit(handed_on):
            alternatives[2] = replace(alternatives[1], text=Map2DWriter(subject, region, called).text(handed_on))
            meaning += f" · 2: so, and {', '.join(value.name for value in handed_on.kept)} once per row, by one of its threads"
        choice = Tunable(fresh_name(subject, "MAP"), (0, *alternatives), 0, meaning, line)
        return Rewrite(variant, choice, alternatives)

    def _fit(self, handed_on: HandedOn) -> bool:
        """Whether the largest block has shared memory for what its rows hand on."""
        most = max(_ROWS) * max(_STEPS) * sum(value.bytes for value in handed_on.kept)
        return most <= self._subject.limits.static_shared_bytes_per_block

    def _alternative(self, region: Region, called: Parameters, line: int) -> Variant:
        variant = self._subject.variant
        node = region.split.extent
        extent = present(
            self._names.expression(node), "the length of a row cannot be computed from the sizes in kernel.toml", node
        )
        lengths = on_workloads(self._subject, extent)
        require(min(lengths) >= 1, f"{extent} = {min(lengths)} is too short for a row", node)
        tunables = [
            Tunable(called.rows, _ROWS, 1, "rows of threads in a block, when threadIdx.x runs along a row", line),
            Tunable(called.cols, _COLS, 1, "columns of a row per thread, when threadIdx.x runs along a row", line),
        ]
        grid = variant.grid
        if region.is_flat:
            tunables.append(Tunable(called.steps, _STEPS, 1, f"rows per block, in multiples of {called.rows}", line))
            grid = (f"ceildiv({region.rows.expression}, {called.rows} * {called.steps})",)
        whole = Rule(f"{extent} % {called.cols} == 0", f"every thread of a row has {called.cols} columns: there is no remainder")
        return replace(
            variant,
            text=Map2DWriter(self._subject, region, called).text(),
            grid=grid,
            block=(f"{extent} / {called.cols}", called.rows),
            tunables=(*variant.tunables, *tunables),
            rules=(*variant.rules, whole, *self._promised(f"({extent}) / {called.cols} * {called.rows}"), *region.rows.rules),
        )

    def _promised(self, threads: str) -> Iterator[Rule]:
        """What __launch_bounds__ says of the block stays true."""
        for node in (c for c in self._subject.source.function.children if c.type == "launch_bounds"):
            first = next((c for c in node.named_children if c.type != "comment"), node)
            most = present(
                self._names.expression(first), "its launch bounds cannot be computed from the sizes in kernel.toml", node
            )
            yield Rule(f"{tidy(threads)} <= {tidy(most)}", f"__launch_bounds__ promises at most {tidy(most)} threads")
