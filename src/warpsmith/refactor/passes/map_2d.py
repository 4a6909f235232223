"""`map_2d`: a flat index that is split by division becomes a two-dimensional block, threadIdx.x along the rows.

Exposes MAP: 1 lays threads out as `blockDim.x * COLS == E` columns and ROWS rows where the original computes `index / E` and
`index % E`. There is no division left, neighbouring threads have neighbouring columns whatever E is, and what depends on the row
only is the same for a whole row of threads. The index is either the thread's place in the grid (then a block does ROW_STEPS times
ROWS rows, and the grid follows) or the variable of a block-stride or grid-stride loop, which becomes a loop over rows; what
depends on the column only is then computed once, before that loop.

Precondition: the threads do not work together, the launch has one dimension, each pair (row, column) is done on its own, E and
the number of rows can be computed by kernel.toml, and a flat index is guarded.
Constraints: COLS divides E; where the guard is on the index, E divides the number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.flat import changeable
from warpsmith.refactor.index_split import Region, find_region
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, present, require, require_readable
from warpsmith.refactor.sorting import COL, ROW
from warpsmith.refactor.writing import FreeNames, cast, operand
from warpsmith.source.statements import indent_unit, line_at
from warpsmith.source.threads import spelled, teamwork

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


@dataclass(frozen=True, slots=True)
class _Parameters:
    rows: str
    cols: str
    steps: str


class _Attempt:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._names = names_of(subject)

    def rewrite(self) -> Rewrite:
        subject, variant = self._subject, self._subject.variant
        require_readable(subject)
        together = teamwork(subject.source)
        require(together.none, f"the kernel {together.described()}: its threads must stay where they are")
        one_row = axis(variant.block, "y") == axis(variant.block, "z") == "1"
        require(one_row, "the block already has several dimensions")
        region = find_region(subject, self._names)
        called = _Parameters(*(fresh_name(subject, wanted) for wanted in ("ROWS", "COLS", "ROW_STEPS")))
        line = subject.source.line_of(region.split.extent)
        choice = Tunable(fresh_name(subject, "MAP"), (0, 1), 0, "1: threadIdx.x along a row, threadIdx.y over rows", line)
        return Rewrite(variant, choice, {1: self._alternative(region, called, line)})

    def _alternative(self, region: Region, called: _Parameters, line: int) -> Variant:
        variant = self._subject.variant
        node = region.split.extent
        extent = present(self._names.expression(node), "the length of a row cannot be computed by kernel.toml", node)
        lengths = on_workloads(self._subject, extent)
        require(min(lengths) >= 1, f"a row of {extent} = {min(lengths)} elements is not one", node)
        tunables = [
            Tunable(called.rows, _ROWS, 1, "rows of threads in a block, when threadIdx.x lies along a row", line),
            Tunable(called.cols, _COLS, 1, "columns of a row for each thread, when threadIdx.x lies along a row", line),
        ]
        grid = variant.grid
        if region.is_flat:
            tunables.append(Tunable(called.steps, _STEPS, 1, f"how many times {called.rows} rows a block does", line))
            grid = (f"ceildiv({region.rows.expression}, {called.rows} * {called.steps})",)
        whole = Rule(f"{extent} % {called.cols} == 0", f"every thread of a row has {called.cols} columns: there is no rest")
        return replace(
            variant,
            text=_Writer(self._subject, region, called).text(),
            grid=grid,
            block=(f"{extent} / {called.cols}", called.rows),
            tunables=(*variant.tunables, *tunables),
            rules=(*variant.rules, whole, *region.rows.rules),
        )


class _Writer:
    """The kernel with two-dimensional blocks, as text."""

    def __init__(self, subject: Subject, region: Region, called: _Parameters) -> None:
        self._source = subject.source
        self._region = region
        self._called = called
        free = FreeNames(subject.variant.text)
        self._step, self._part, self._width = (free.take(wanted) for wanted in ("step", "part", "width"))
        self._row = region.statements.row.name or free.take("row")
        self._col = region.statements.col.name or free.take("col")
        self._row_type = region.statements.row.type or region.type
        self._col_type = region.statements.col.type or region.type
        self._unit = indent_unit(subject.source.function, subject.source.body, subject.source.tree)

    def text(self) -> str:
        region, data = self._region, self._source.tree.data
        lines = self._flat() if region.is_flat else self._loop()
        new = "\n".join(line_at(line, region.indent) for line in lines)
        before = data[: region.gone[0]] + data[region.gone[1] : region.start]
        # A flat region begins at the end of the line before; a loop's at the beginning of its own.
        gap = "\n" if region.is_flat else ""
        return before.decode() + gap + new + data[region.end :].decode()

    def _flat(self) -> list[str]:
        region, called = self._region, self._called
        own = self._spelled(f"(blockIdx.x * {called.steps} + {self._step}) * {called.rows} + threadIdx.y")
        return [
            "// threadIdx.x lies along a row and threadIdx.y over rows; blockDim.x is width, so that the block has whole rows.",
            self._width_declaration(),
            "#pragma unroll",
            f"for (int {self._step} = 0; {self._step} < {called.steps}; ++{self._step}) {{",
            f"{self._unit}{self._row_type} {self._row} = {own};",
            f"{self._unit}if ({self._row} >= {region.rows.text}) break;",
            *self._moved(region.statements.row_only, 1),
            *self._moved(region.statements.first_column, 1),
            *(line_at(line, self._unit) for line in self._columns(self._moved((*self._index(), *region.statements.rest), 1))),
            "}",
        ]

    def _loop(self) -> list[str]:
        region, called = self._region, self._called
        first, step = "threadIdx.y", called.rows
        if region.is_grid_stride:
            first, step = f"blockIdx.x * {called.rows} + threadIdx.y", f"gridDim.x * {called.rows}"
        row = self._row
        header = f"{changeable(self._row_type)} {row} = {first}; {row} < {region.rows.text}; {row} += {step}"
        loop = [f"for ({self._spelled(header)}) {{", *self._moved((*self._index(), *region.statements.rest), 1), "}"]
        return [
            "// threadIdx.x lies along a row and threadIdx.y over rows; blockDim.x is width, so that the block has whole rows.",
            "// What depends on the column only is the same for all rows of a thread.",
            self._width_declaration(),
            *self._columns([*self._moved(region.statements.col_only, 1), *(line_at(line, self._unit) for line in loop)]),
        ]

    def _columns(self, inner: list[str]) -> list[str]:
        part = self._part
        return [
            "#pragma unroll",
            f"for (int {part} = 0; {part} < {self._called.cols}; ++{part}) {{",
            f"{self._unit}{self._col_type} {self._col} = {self._own_column()};",
            *inner,
            "}",
        ]

    def _own_column(self) -> str:
        """Signed where the original is: the compiler then sees that neighbouring threads have neighbouring columns."""
        own = self._spelled("threadIdx.x")
        signed = changeable(self._col_type) == "int"
        return f"{self._part} * {self._width} + {cast(self._source.language, 'int', own) if signed else own}"

    def _width_declaration(self) -> str:
        """Of blockDim.x a vectorising compiler does not know that it cannot wrap: with it, loads become gathers."""
        extent = operand(self._source.text_of(self._region.split.extent))
        return f"const {changeable(self._col_type)} {self._width} = {extent} / {self._called.cols};"

    def _index(self) -> list[str]:
        region = self._region
        extent = operand(self._source.text_of(region.split.extent))
        declared = f"{region.type} {region.variable} = {self._row} * {extent} + {self._col};"
        return [declared] if region.statements.uses_index else []

    def _moved(self, statements: Sequence[str], level: int) -> list[str]:
        lines = [line for statement in statements for line in statement.split("\n")]
        while lines and not lines[0].strip():
            lines.pop(0)
        return [line_at(line.replace(ROW, self._row).replace(COL, self._col), self._unit * level) for line in lines]

    def _spelled(self, text: str) -> str:
        return spelled(text, self._source.language)
