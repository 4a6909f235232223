"""The tables of `warpsmith compare-runs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import terminal
from warpsmith.report.wording import interval_text, speedup_text, time_text


def render_differences(found: Mapping[str, Any]) -> None:
    console = terminal()
    first, second = found["runs"]
    console.print(Text.assemble("A ", (first, "bold"), "\nB ", (second, "bold")))
    if not found["comparable"]:
        console.print(Text("The runs are of different kernels, so their speedups have different baselines.", style="yellow"))
    claims = FittingTable(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for at, name in enumerate(("workload", "original A", "original B", "A", "B", "B over A", "95 % interval", "")):
        claims.add_column(name, justify="left" if at in {0, 7} else "right", no_wrap=True)
    for claim in found["claims"]:
        claims.add_row(
            claim["workload"],
            *("-" if us is None else time_text(us) for us in claim["baseline_us"]),
            *map(speedup_text, claim["speedup"]),
            speedup_text(claim["ratio"]),
            interval_text(claim["ratio_ci95"]),
            f"B is {claim['differs']}" if claim["differs"] else "no significant difference",
        )
    console.print(claims)
    if found["only_in_one"]:
        console.print(Text(f"Only one of them has {', '.join(found['only_in_one'])}."))
    for title, changed in (("configuration", found["configuration"]), ("what else changed", found["changed"])):
        if not changed:
            continue
        table = FittingTable(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
        for name in (title, "A", "B"):
            table.add_column(name)
        for name, pair in changed.items():
            table.add_row(name, *("-" if value is None else str(value) for value in pair))
        console.print(Text(""), table)
