"""The table of `warpsmith show RUN --importance`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.report.importance_notes import effect_cells, importance_notes, pairs_text, why_unknown


def render_importance(entry: Mapping[str, Any]) -> None:
    console = terminal()
    unknown = why_unknown(entry)
    if unknown is not None:
        console.print(f"which parameters mattered: {unknown}", highlight=False)
        return
    console.print(Text.assemble(("which parameters mattered", "bold"), ", estimated by a model fitted to the measured times"))
    console.print(_table(entry))
    if pairs := pairs_text(entry):
        console.print(Text.assemble(("interactions: ", "bold"), pairs))
    for note in importance_notes(entry):
        console.print(Text(note, style="dim"))


def _table(entry: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter", no_wrap=True)
    for name in ("share", "best", "worst", "worst / best"):
        table.add_column(name, justify="right")
    for effect in entry["parameters"]:
        table.add_row(*effect_cells(effect))
    return table
