"""Human-readable output: tables on stdout, from the objects that `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from warpsmith.api.result import Result
from warpsmith.cli.fitting_table import FittingTable
from warpsmith.cli.render_analysis import compiled_tables
from warpsmith.cli.terminal import terminal
from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import DeviceInfo
from warpsmith.isolation.confinement import ConfinementReport
from warpsmith.record.result import Figures, RunResult, UnfinishedRun
from warpsmith.report.notes import result_notes, unfinished_notes
from warpsmith.report.wording import (
    configuration_text,
    fraction_text,
    interval_text,
    removed_text,
    speedup_text,
    time_text,
)


def _print(*parts: RenderableType) -> None:
    console = terminal()
    for part in parts:
        console.print(part)


def _table(*columns: str, title: str | None = None, numbers_from: int = 1) -> Table:
    table = FittingTable(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", title_style="bold")
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if position >= numbers_from else "left", no_wrap=position == 0)
    return table


# ── devices, space, runs ──


def render_devices(found: Mapping[str, DeviceInfo | UnavailableError]) -> None:
    for name, answer in found.items():
        if isinstance(answer, UnavailableError):
            _print(Text.assemble((f"{name:<7} ", "bold"), ("not available: ", "yellow"), answer.message))
            if answer.hint:
                _print(Text(f"        hint: {answer.hint}", style="dim"))
            continue
        _print(Text.assemble((f"{name:<7} ", "bold"), answer.description))
        _print(Text(f"        runs {', '.join(sorted(answer.languages))}"))
        for limit, value in answer.limits.names().items():
            _print(Text(f"        {limit:<24} {value:>12,}"))
        _print(Text("        " + ", ".join(f"{k} {v}" for k, v in answer.versions.items()), style="dim"))


def render_confinement(report: ConfinementReport) -> None:
    lacks = "switched off" if report.setting == "off" else f"incomplete, missing: {', '.join(report.missing)}"
    said = "workers are confined" if report.is_complete else lacks
    _print(Text.assemble(("\nconfinement  ", "bold"), (said, "" if report.is_complete else "yellow")))


def render_space(facts: Mapping[str, Any]) -> None:
    share = facts["feasible"] / facts["cartesian_size"]
    counts = f"{facts['feasible']:,} of {facts['cartesian_size']:,} configurations ({share:.1%})"
    _print(f"{facts['kernel']} on {facts['device']}: {counts}")
    parameters = _table("parameter", "values", numbers_from=2)
    for name, values in facts["parameters"].items():
        parameters.add_row(name, " ".join(map(str, values)))
    _print(parameters)
    if facts["removed"]:
        removed = _table("removes", "constraint", "reason", numbers_from=3)
        for entry in facts["removed"]:
            removed.add_row(removed_text(entry["removes"], estimate=entry["estimate"]), entry["constraint"], entry["reason"])
        _print(removed)
    for expected in facts["likely"]:
        _print(Text.assemble("tried first: ", (expected["expr"], "bold"), f"   {expected['reason']}"))
    if "violations" in facts:
        _print(Text(configuration_text(facts["configuration"]), style="bold"))
        _print(*(f"  out: {violation}" for violation in facts["violations"]) if facts["violations"] else ("  feasible",))


def render_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    if not runs:
        _print("no runs yet; `warpsmith tune KERNEL` starts one")
        return
    # A run's name says which kernel it is of and when it was started; in a pipe there are 80 columns for all of it.
    table = _table("run", "device", "status", "evaluations", "speedup", numbers_from=3)
    for run in runs:
        speedup = speedup_text(run["speedup"]) if run["speedup"] is not None else "-"
        table.add_row(run["run"], run["device"], run["status"], str(run["evaluations"]), speedup)
    _print(table)


def render_batches(batches: Sequence[Mapping[str, Any]]) -> None:
    table = _table("batch", "device", "status", "kernels", "evaluations", "speedup", numbers_from=3)
    for batch in batches:
        speedup = speedup_text(batch["speedup"]) if batch["speedup"] is not None else "-"
        table.add_row(batch["batch"], batch["device"], batch["status"], str(batch["kernels"]), str(batch["evaluations"]), speedup)
    _print("", table)


# ── one run's result ──


def render_result(shown: Result) -> None:
    result = shown.typed
    if isinstance(result, UnfinishedRun):
        _print(*map(Text, unfinished_notes(result)))
    else:
        _print(_result_table(result), *compiled_tables(result), *map(Text, result_notes(result)))
    if shown.get("report"):
        terminal().print(Text(f"Report: {shown['report']}"), soft_wrap=True)  # in one piece, to be copied or clicked
    for number, entry in enumerate(shown.get("evaluation_list", ())):
        row = Text(f"{number:>5}  {entry['outcome']:<14} {entry['summary']:<28} {configuration_text(entry['config'])}")
        terminal().print(row, soft_wrap=not terminal().is_terminal)  # a row is one line for those who search it


def _result_table(result: RunResult) -> RenderableType:
    table = _table("", "time", "speedup", "95 % interval", "of roofline", title=f"{result.kernel} on {result.device}")
    baseline, general = result.baseline, result.general
    table.add_row(Text("baseline (the original)", style="bold"), *_cells(baseline))
    for name, claim in baseline.workloads.items():
        table.add_row(f"  {name}", *_cells(claim))
    table.add_section()
    table.add_row(Text("general configuration", style="bold green"), *_cells(general))
    for name, claim in general.workloads.items():
        table.add_row(f"  {name}", *_cells(claim))
    for name, claim in result.heldout.items():
        table.add_row(Text.assemble(f"  {name} ", ("held out", "dim")), *_cells(claim))
    table.add_section()
    table.add_row(Text("best for each workload", style="bold"))
    for name, claim in result.per_workload.items():
        table.add_row(f"  {name}", *_cells(claim))
    lines: list[RenderableType] = [table, Text("")]
    lines.append(Text.assemble(("general: ", "bold"), configuration_text(general.config)))
    for name, claim in result.per_workload.items():
        if claim.config != general.config:
            lines.append(Text.assemble((f"{name}: ", "bold"), configuration_text(claim.config)))
    return Panel(Group(*lines), expand=False, border_style="dim")


def _cells(figures: Figures) -> tuple[str, str, str, str]:
    return (
        time_text(figures.median_us),
        speedup_text(figures.speedup),
        interval_text(figures.ci95),
        fraction_text(figures.roofline_fraction),
    )
