"""Output of `warpsmith templatize`: the diff, the origin of each parameter, passes that did not apply and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import terminal
from warpsmith.core.file_names import as_argument

_NAMED_AT_MOST = 5  # passes that give one reason; more of them are counted
_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def render_template(result: Mapping[str, Any]) -> None:
    console = terminal()
    for line in result["diff"].split("\n"):
        style = next((style for start, style in _DIFF_STYLES.items() if line.startswith(start)), "")
        console.print(Text(line, style=style), soft_wrap=True)
    console.print()
    if result["parameters"]:
        console.print(_parameters(result))
        for lead, rules in (("", result["constraints"]), ("tried first: ", result["likely"])):
            for rule in rules:
                console.print(Text.assemble(f"  {lead}", (rule["expr"], "bold"), f"   {rule['reason']}"), soft_wrap=True)
        console.print()
    for entry in result["passes"]["applied"]:
        console.print(
            Text.assemble(("applied      ", "green"), f"{entry['name']}: {', '.join(entry['parameters'])}"), soft_wrap=True
        )
        for note in entry["notes"]:
            console.print(Padding(Text(note, style="dim"), (0, 0, 0, 13)))
    for reason, names in _by_reason(result["passes"]["not_applied"]).items():
        who = f"{len(names)} passes" if len(names) > _NAMED_AT_MOST else ", ".join(names)
        console.print(Text.assemble(("not applied  ", "yellow"), f"{who}: {reason}"), soft_wrap=True)
    form = result["form"]
    if form is not None and form["problem"] is not None:
        wrote = f"the form that {result['agent']} wrote ({form['hypothesis']}): {form['problem']}"
        console.print(Text.assemble(("left out     ", "yellow"), wrote), soft_wrap=True)
    console.print()
    count = result["configurations"]
    console.print(Text(f"{count['feasible']:,} of {count['all']:,} configurations are feasible on {result['device']}"))
    console.print(Text(f"identity     with its default values the template is the original: {result['certificate']['detail']}"))
    console.print(Text(f"template     {result['template']}"), soft_wrap=True)
    tune = f"warpsmith tune {as_argument(result['kernel_toml'])}"
    after = tune if count["feasible"] > 1 else "nothing to search: the template has no parameters"
    console.print(Text(f"next         {after}"), soft_wrap=True)


def _by_reason(declined: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The passes that give the same reason: one that keeps all of them away is said once."""
    found: dict[str, list[str]] = {}
    for entry in declined:
        where = f"line {entry['line']}: " if entry["line"] is not None else ""
        found.setdefault(f"{where}{entry['reason']}", []).append(entry["name"])
    return found


def _parameters(result: Mapping[str, Any]) -> Table:
    table = FittingTable(box=None, pad_edge=False, header_style="bold")
    for name in ("parameter", "values", "meaning", "from"):
        table.add_column(name, no_wrap=name == "parameter", overflow="fold")
    for name, entry in result["parameters"].items():
        values = Text(" ").join(Text(str(v), style="bold" if v == entry["default"] else "") for v in entry["values"])
        line = f", line {entry['line']}" if entry["line"] is not None else ""
        tested = f" (tested, not proved: {entry['assumes']})" if entry["assumes"] else ""
        table.add_row(name, values, f"{entry['meaning']}{tested}", f"{entry['pass']}{line}")
    return table
