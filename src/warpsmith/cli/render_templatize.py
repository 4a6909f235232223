"""What `warpsmith templatize` shows: the diff, where each parameter came from, what was not possible and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def render_template(result: Mapping[str, Any]) -> None:
    console = Console()
    for line in result["diff"].split("\n"):
        style = next((style for start, style in _DIFF_STYLES.items() if line.startswith(start)), "")
        console.print(Text(line, style=style), soft_wrap=True)
    console.print()
    if result["parameters"]:
        console.print(_parameters(result))
        for constraint in result["constraints"]:
            console.print(Text.assemble("  ", (constraint["expr"], "bold"), f"   {constraint['reason']}"), soft_wrap=True)
        console.print()
    for entry in result["passes"]["applied"]:
        console.print(
            Text.assemble(("applied      ", "green"), f"{entry['name']}: {', '.join(entry['parameters'])}"), soft_wrap=True
        )
        for note in entry["notes"]:
            console.print(Padding(Text(note, style="dim"), (0, 0, 0, 13)))
    for entry in result["passes"]["not_applied"]:
        where = f"line {entry['line']}: " if entry["line"] is not None else ""
        console.print(Text.assemble(("not applied  ", "yellow"), f"{entry['name']}: {where}{entry['reason']}"), soft_wrap=True)
    form = result["form"]
    if form is not None and form["problem"] is not None:
        wrote = f"the form that {result['agent']} wrote ({form['hypothesis']}): {form['problem']}"
        console.print(Text.assemble(("left out     ", "yellow"), wrote), soft_wrap=True)
    console.print()
    count = result["configurations"]
    console.print(Text(f"{count['feasible']:,} of {count['all']:,} configurations are feasible on {result['device']}"))
    console.print(Text(f"identity     at its defaults the template is the original: {result['certificate']['detail']}"))
    console.print(Text(f"template     {result['template']}"), soft_wrap=True)
    console.print(Text(f"next         warpsmith tune {result['kernel_toml']}"), soft_wrap=True)


def _parameters(result: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("parameter", "values", "meaning", "from"):
        table.add_column(name, no_wrap=name == "parameter", overflow="fold")
    for name, entry in result["parameters"].items():
        values = Text(" ").join(Text(str(v), style="bold" if v == entry["default"] else "") for v in entry["values"])
        line = f", line {entry['line']}" if entry["line"] is not None else ""
        table.add_row(name, values, entry["meaning"], f"{entry['pass']}{line}")
    return table
