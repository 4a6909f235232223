"""The table of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import terminal
from warpsmith.report.batch_rows import BATCH_COLUMNS, batch_notes, batch_rows


def render_batch(result: Mapping[str, Any]) -> None:
    console = terminal()
    console.print(Text.assemble((result["batch"], "bold"), f" on {result['device']}"))
    table = FittingTable(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for position, name in enumerate(BATCH_COLUMNS):
        is_text = position in {0, len(BATCH_COLUMNS) - 1}
        table.add_column(name, justify="left" if is_text else "right", no_wrap=position == 0)
    for row in batch_rows(result):
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(*map(Text, batch_notes(result)), sep="\n")
    if result["report"]:
        console.print(Text(f"Summary: {result['report']}"), soft_wrap=True)
