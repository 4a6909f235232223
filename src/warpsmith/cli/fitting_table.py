"""A table that adapts to the terminal: in a narrow one, cells are stacked so that figures are not cut."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_INDENT = 4
_ANY_WIDTH = 1 << 16


class FittingTable(Table):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        natural = Measurement.get(console, options.update(width=_ANY_WIDTH), self).maximum
        if natural <= options.max_width or len(self.columns) == 1:
            yield from super().__rich_console__(console, options)
            return
        if self.title is not None:
            yield Text(str(self.title), style=self.title_style or "")
        for row in zip(*(column.cells for column in self.columns), strict=True):
            name, *cells = (cell if isinstance(cell, Text) else Text(str(cell)) for cell in row)
            yield Text.assemble(_before(self.columns[0]), name)
            known = [(column, cell) for column, cell in zip(self.columns[1:], cells, strict=True) if str(cell) not in {"", "-"}]
            yield from _lines([f"{column.header} {cell}" for column, cell in known], options.max_width)


def _before(first: Column) -> str:
    """What a row begins with must be said where there is no head above it."""
    return f"{first.header} " if first.header else ""


def _lines(items: list[str], width: int) -> Iterator[Padding]:
    """As many to a line as fit; what goes on in the next line is under what it belongs to."""
    line = ""
    for item in items:
        if line and _INDENT + len(line) + len(item) + 2 > width:
            yield Padding.indent(Text(line), _INDENT)
            line = ""
        line = f"{line}, {item}" if line else item
    if line:
        yield Padding.indent(Text(line), _INDENT)
