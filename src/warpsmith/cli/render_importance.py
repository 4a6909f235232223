"""The table of `warpsmith show RUN --importance`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from warpsmith.cli.terminal import terminal

_PAIRS = 5
_NOTHING = 0.005  # a share below it is shown as 0 %, and which value is best is then chance
_DOUBTFUL = 0.5


def render_importance(entry: Mapping[str, Any]) -> None:
    console = terminal()
    if entry["r2"] is None:
        console.print(
            f"which parameters mattered: too few results to say ({entry['measured']} measured, {entry['needed']} needed)",
            highlight=False,
        )
        return
    if entry["r2"] <= 0:
        console.print(
            f"which parameters mattered: cannot be said, the model does not predict the {entry['measured']} measured times"
            f" (R² {entry['r2']:.2f}, each predicted from the others)",
            highlight=False,
        )
        return
    console.print(Text.assemble(("which parameters mattered", "bold"), ", estimated by a model of the measured times"))
    console.print(_table(entry))
    pairs = [pair for pair in entry["pairs"][:_PAIRS] if pair["share"] >= _NOTHING]
    if pairs:
        shares = ", ".join(f"{' × '.join(pair['parameters'])} {pair['share']:.0%}" for pair in pairs)
        console.print(Text.assemble(("together, beyond each by itself: ", "bold"), shares))
    for note in _notes(entry):
        console.print(Text(note, style="dim"))


def _table(entry: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter", no_wrap=True)
    for name in ("share", "best", "worst", "worst / best"):
        table.add_column(name, justify="right")
    for effect in entry["parameters"]:
        best, worst = effect["best"], effect["worst"]
        figures = (str(best["value"]), str(worst["value"]), f"{worst['slowdown']:.2f}x") if effect["share"] >= _NOTHING else "---"
        table.add_row(effect["name"], f"{effect['share']:.0%}", *figures)
    return table


def _notes(entry: Mapping[str, Any]) -> list[str]:
    known = f"{entry['measured']} measured configurations" + (f" ({entry['failed']} failed)" if entry["failed"] else "")
    over = f"{'a sample of ' if entry['sampled'] else 'all '}{entry['predicted']:,} feasible ones"
    notes = [
        f"From {known}, predicted for {over}; R² {entry['r2']:.2f}, each result predicted from the others.",
        f"The slow end of the space is predicted {entry['spread']:.2f} times slower than the fast end.",
    ]
    if entry["r2"] < _DOUBTFUL:
        notes.append("The model explains less than half of what was measured: take this as a hint only.")
    return notes
