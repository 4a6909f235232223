"""Writes a kernel whose index is split by division (`index_split`) with two-dimensional blocks, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.refactor.base import Subject
from warpsmith.refactor.mapping.flat import changeable
from warpsmith.refactor.mapping.index_split import Region
from warpsmith.refactor.mapping.sorting import COL, ROW, HandedOn
from warpsmith.refactor.writing import FreeNames, barrier, cast, operand, shared_array
from warpsmith.source.statements import indent_unit, line_at
from warpsmith.source.threads import spelled


@dataclass(frozen=True, slots=True)
class Parameters:
    rows: str
    cols: str
    steps: str


class Map2DWriter:
    """The kernel with two-dimensional blocks, as text."""

    def __init__(self, subject: Subject, region: Region, called: Parameters) -> None:
        self._source = subject.source
        self._region = region
        self._called = called
        self._free = free = FreeNames(subject.variant.text)
        self._step, self._part, self._width = (free.take(wanted) for wanted in ("step", "part", "width"))
        self._row = region.statements.row.name or free.take("row")
        self._col = region.statements.col.name or free.take("col")
        self._row_type = region.statements.row.type or region.type
        self._col_type = region.statements.col.type or region.type
        self._unit = indent_unit(subject.source.function, subject.source.body, subject.source.tree)

    def text(self, handed_on: HandedOn | None = None) -> str:
        """With `handed_on`, one thread does a row's part for all threads of the row."""
        region, data = self._region, self._source.tree.data
        lines = self._flat(handed_on) if region.is_flat else self._loop()
        new = "\n".join(line_at(line, region.indent) for line in lines)
        before = data[: region.gone[0]] + data[region.gone[1] : region.start]
        # A flat region begins at the end of the line before; a loop's at the beginning of its own.
        gap = "\n" if region.is_flat else ""
        return before.decode() + gap + new + data[region.end :].decode()

    def _flat(self, handed_on: HandedOn | None) -> list[str]:
        called, statements = self._called, self._region.statements
        own = self._spelled(f"(blockIdx.x * {called.steps} + {self._step}) * {called.rows} + threadIdx.y")
        arrays = [] if handed_on is None else [self._free.take(f"{value.name}_of_row") for value in handed_on.kept]
        return [
            "// threadIdx.x lies along a row and threadIdx.y over rows; blockDim.x is width, so that the block has whole rows.",
            self._width_declaration(),
            *([] if handed_on is None else self._before_all_rows(handed_on, arrays)),
            "#pragma unroll",
            f"for (int {self._step} = 0; {self._step} < {called.steps}; ++{self._step}) {{",
            *self._begun_row(own),
            *self._moved((*statements.row_only, *statements.first_column) if handed_on is None else handed_on.again, 1),
            *([] if handed_on is None else self._taken(handed_on, arrays)),
            *(line_at(line, self._unit) for line in self._columns(self._moved((*self._index(), *statements.rest), 1))),
            "}",
        ]

    def _begun_row(self, own: str) -> list[str]:
        return [
            f"{self._unit}{self._row_type} {self._row} = {own};",
            f"{self._unit}if ({self._row} >= {self._region.rows.text}) break;",
        ]

    def _before_all_rows(self, handed_on: HandedOn, arrays: Sequence[str]) -> list[str]:
        called, language, own = self._called, self._source.language, self._free.take("own")
        count = f"{called.rows} * {called.steps}"
        first = self._spelled(f"threadIdx.y * {self._width} + threadIdx.x")
        kept = list(zip(handed_on.kept, arrays, strict=True))
        return [
            "// What a row needs is computed once, by one thread for each row of the block.",
            *(shared_array(language, value.type, array, count) for value, array in kept),
            f"for (int {own} = {first}; {own} < {count}; {own} += {self._width} * {called.rows}) {{",
            *self._begun_row(self._spelled(f"blockIdx.x * ({count}) + {own}")),
            *self._moved((*self._region.statements.row_only, *handed_on.once), 1),
            *(f"{self._unit}{array}[{own}] = {value.name};" for value, array in kept),
            "}",
            barrier(language),
        ]

    def _taken(self, handed_on: HandedOn, arrays: Sequence[str]) -> list[str]:
        place = self._spelled(f"{self._step} * {self._called.rows} + threadIdx.y")
        return [
            f"{self._unit}const {value.type} {value.name} = {array}[{place}];"
            for value, array in zip(handed_on.kept, arrays, strict=True)
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
