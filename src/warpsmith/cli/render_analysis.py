"""Output of `warpsmith analyze`: one table per target, and progress on stderr while compilers run."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.terminal import BAR_WIDTH, terminal, words
from warpsmith.record.result import RunResult
from warpsmith.report.compiled import compiled_cells, compiled_rows
from warpsmith.report.wording import configuration_text

if TYPE_CHECKING:  # `show` has tables of what was compiled, and compiles nothing
    from warpsmith.analysis.analyze import Progress as Report

_SHOWN = 20
_NUMBERS = 5  # columns
_WIDTH = 200


@contextlib.contextmanager
def compiling(target: str) -> Iterator[Report]:
    console = terminal(stderr=True)
    columns = (words(f"compiling for {target}"), BarColumn(bar_width=BAR_WIDTH), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=None)  # not known before the space is
        yield lambda done, total: bar.update(task, completed=done, total=total)


def render_analysis(facts: Mapping[str, Any]) -> None:
    console = _console()
    for target in facts["targets"]:
        console.print(Text(f"{facts['kernel']} on {target['target']}: {target['description']}", style="bold"))
        console.print(_table(target))
        if ranking := target.get("ranking"):
            console.print(_ranked(ranking))
            console.print(Text(ranking["validated"]["words"]))
        for note in _notes(target):
            console.print(Text(note))
        console.print()


def compiled_tables(result: RunResult) -> Iterator[RenderableType]:
    """What the winners of a run use on the targets that it compiled for too."""
    for target in result.also_compile:
        yield Text(f"on {target.target}: {target.description}; compiled, not run", style="bold")
        yield _rows(compiled_rows(target, result))


def _console() -> Console:
    """Wide where nobody looks at a terminal: a configuration stays on its line."""
    console = terminal()
    return console if console.is_terminal else terminal(width=_WIDTH)


def _table(target: Mapping[str, Any]) -> Table:
    best = _best(target["configurations"])[:_SHOWN]
    return _rows([("the original", target["original"]), *(_named(entry) for entry in best)])


def _named(entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return configuration_text(entry["config"]), entry


def _rows(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    table = FittingTable(box=None, pad_edge=False, header_style="bold")
    # Narrow ones, so that a configuration takes three lines and not eight where a terminal has 80 columns.
    columns = ("regs", "spilled", "shared", "widest\nload", "occu-\npancy", "limited by", "configuration")
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if position < _NUMBERS else "left", no_wrap=position <= _NUMBERS)
    for name, entry in entries:
        table.add_row(*compiled_cells(entry), name)
    return table


def _ranked(ranking: Mapping[str, Any]) -> Table:
    table = FittingTable(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(("estimated\nµs", "estimated limiter", "configuration")):
        table.add_column(name, justify="right" if position == 0 else "left", no_wrap=position == 0)
    for one in ranking["configurations"][:_SHOWN]:
        limiters = dict.fromkeys(workload["limiter"] for workload in one["workloads"].values())
        table.add_row(f"{one['estimated_us']:.1f}", ", ".join(limiters), configuration_text(one["config"]))
    for reason, count in Counter(one["reason"] for one in ranking["refused"]).most_common(3):
        table.add_row("", f"{count:,} without an estimate", reason)
    return table


def _best(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without spills first, then by occupancy: an order for reading, not a prediction of speed."""
    compiled = [entry for entry in entries if entry["outcome"] == "compiled"]
    return sorted(compiled, key=lambda entry: (entry["spill_bytes"] or 0, -(entry["occupancy"] or 0), entry["registers"] or 0))


def _notes(target: Mapping[str, Any]) -> Iterator[str]:
    entries = target["configurations"]
    compiled = [entry for entry in entries if entry["outcome"] == "compiled"]
    hidden = len(compiled) - _SHOWN
    if hidden > 0:
        yield f"… and {hidden:,} more (--json has all)"
    share = "all" if len(entries) == target["feasible"] else f"{len(entries):,} of"
    yield (
        f"{share} {target['feasible']:,} feasible configurations, of {target['cartesian_size']:,};"
        f" {sum(bool(entry['spill_bytes']) for entry in compiled):,} spill; {target['seconds']:.1f} s"
    )
    reasons = Counter(entry["reason"] for entry in entries if entry["reason"] is not None)
    for reason, count in reasons.most_common(5):
        yield f"  {count:,} cannot run: {reason}"
    for workload, least in (target["least_us"] or {}).items():
        yield f"  {workload}: at least {least:.1f} µs at the data sheet's memory bandwidth"
