"""The tables of `warpsmith replay`: one row for each strategy, over all spaces and on each."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import terminal
from warpsmith.replay import Figure, ReplayResult

_INTERVAL = len(".952-1.00")


def render_replay(result: ReplayResult) -> None:
    console = terminal()
    plan = result.plan
    console.print(
        Text.assemble(("fraction of the optimum", "bold"), f" by evaluations: mean of {plan.seeds} seeds, 95 % interval")
    )
    console.print(Text("ms: the strategy's own time for an evaluation", style="dim"))
    if plan.warm is not None:
        console.print(f"each trial starts from {plan.warm.evaluations} evaluations of {plan.warm.name}", highlight=False)
    if plan.at_once > 1:
        console.print(f"{plan.at_once} evaluations run concurrently", highlight=False)
    if len(plan.files) > 1:
        console.print(Text(f"\naverage of {len(plan.files)} spaces", style="bold"), _table(result, None), sep="\n")
    for name, recording in result.recordings.items():
        facts = [f"{len(recording.space):,} configurations", f"{recording.failures:,} of them fail"]
        facts += [f"{recording.left_out:,} outside the space left out"] if recording.left_out else []
        facts += [f"optimum {recording.objective.name} {recording.optimum:.4g}", *recording.notes]
        title = Text.assemble((f"\n{name}", "bold"), f": {recording.kernel} on {recording.device}")
        console.print(title, Text("; ".join(facts), style="dim"), _table(result, name), sep="\n")


def _table(result: ReplayResult, space: str | None) -> Table:
    table = FittingTable(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    for evaluations in result.checkpoints:
        table.add_column(str(evaluations), justify="right", min_width=_INTERVAL)  # a narrow terminal has the interval below
    table.add_column("ms", justify="right")
    for strategy in result.plan.strategies:
        cells = [cell for cell in result.cells if cell.strategy == strategy and space in (None, cell.space)]
        overhead_ms = sum(cell.overhead_ms for cell in cells) / len(cells)
        figures = [_figure(result.at(space, strategy, evaluations)) for evaluations in result.checkpoints]
        table.add_row(strategy, *figures, f"{overhead_ms:.1f}")
    return table


def _figure(figure: Figure) -> Text:
    interval = "" if figure.interval is None else f" {_short(figure.interval[0])}-{_short(figure.interval[1])}"
    return Text.assemble((_short(figure.mean), "bold"), (interval, "dim"))


def _short(fraction: float) -> str:
    """.974 or 1.00: four columns with their intervals fit a terminal of 80."""
    return f"{fraction:.3f}".removeprefix("0")[:4]
