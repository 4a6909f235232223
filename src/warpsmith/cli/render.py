"""What people read: tables on stdout, from the same objects that `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from warpsmith.cli.render_analysis import compiled_tables
from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import DeviceInfo
from warpsmith.isolation.confinement import ConfinementReport


def _print(*parts: RenderableType) -> None:
    console = Console()
    for part in parts:
        console.print(part)


def _table(*columns: str, title: str | None = None, numbers_from: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", title_style="bold")
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if position >= numbers_from else "left", no_wrap=position == 0)
    return table


# ── devices, space, runs ──


def render_devices(found: Mapping[str, DeviceInfo | UnavailableError]) -> None:
    for name, answer in found.items():
        if isinstance(answer, UnavailableError):
            _print(Text.assemble((f"{name:<8}", "bold"), ("not available: ", "yellow"), answer.message))
            if answer.hint:
                _print(Text(f"        hint: {answer.hint}", style="dim"))
            continue
        _print(Text.assemble((f"{name:<8}", "bold"), answer.description))
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
            removed.add_row(("~" if entry["estimate"] else "") + f"{entry['removes']:,}", entry["constraint"], entry["reason"])
        _print(removed)
    if "violations" in facts:
        _print(Text(_configuration(facts["configuration"]), style="bold"))
        _print(*(f"  out: {violation}" for violation in facts["violations"]) if facts["violations"] else ("  feasible",))


def render_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    if not runs:
        _print("no runs yet; `warpsmith tune KERNEL` makes one")
        return
    # A run's name says which kernel it is of and when it was started; in a pipe there are 80 columns for all of it.
    table = _table("run", "device", "status", "evaluations", "speedup", numbers_from=3)
    for run in runs:
        speedup = f"{run['speedup']:.2f}x" if run["speedup"] is not None else "-"
        table.add_row(run["run"], run["device"], run["status"], str(run["evaluations"]), speedup)
    _print(table)


# ── one run's result ──


def render_result(result: Mapping[str, Any]) -> None:
    if result["general"] is None:
        counts = {k: v for k, v in result["evaluations"].items() if v}
        _print(f"run {result['run']} is {result['status']}: {counted(counts) or 'nothing evaluated yet'}")
        best = result.get("best_so_far")
        if best:
            _print(f"best so far in the search (not a claim): {best['speedup']:.2f}x  {_configuration(best['config'])}")
        _print(*map(Text, _warm(result)))
        if result["status"] == "searched":
            _print("it belongs to a comparison, which claims for all of its runs together")
        elif result["status"] != "finished":
            _print(f"go on with: warpsmith resume {result['run']}")
    else:
        _print(_result_table(result), *compiled_tables(result), *_notes(result))
    for number, entry in enumerate(result.get("evaluation_list", ())):
        _print(Text(f"{number:>5}  {entry['outcome']:<14} {entry['summary']:<28} {_configuration(entry['config'])}"))


def _result_table(result: Mapping[str, Any]) -> RenderableType:
    title = f"{result['kernel']} on {result['device']}"
    table = _table("", "time", "speedup", "95 % interval", "of roofline", title=title)
    baseline, general = result["baseline"], result["general"]
    table.add_row(Text("baseline (the original)", style="bold"), *_cells(baseline))
    for name, entry in baseline["workloads"].items():
        table.add_row(f"  {name}", *_cells(entry))
    table.add_section()
    table.add_row(Text("general configuration", style="bold green"), *_cells(general))
    for name, entry in general["workloads"].items():
        table.add_row(f"  {name}", *_cells(entry))
    for name, entry in result["heldout"].items():
        table.add_row(Text.assemble(f"  {name} ", ("held out", "dim")), *_cells(entry))
    table.add_section()
    table.add_row(Text("best for each workload", style="bold"))
    for name, entry in result["per_workload"].items():
        table.add_row(f"  {name}", *_cells(entry))
    lines: list[RenderableType] = [table, Text("")]
    lines.append(Text.assemble(("general: ", "bold"), _configuration(general["config"])))
    for name, entry in result["per_workload"].items():
        if entry["config"] != general["config"]:
            lines.append(Text.assemble((f"{name}: ", "bold"), _configuration(entry["config"])))
    return Panel(Group(*lines), expand=False, border_style="dim")


def _cells(entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
    low, high = entry["ci95"]
    interval = "-" if low == high else f"{low:.2f} - {high:.2f}"
    fraction = entry["roofline_fraction"]
    return _time(entry["median_us"]), f"{entry['speedup']:.2f}x", interval, "-" if fraction is None else f"{fraction:.0%}"


def _notes(result: Mapping[str, Any]) -> list[RenderableType]:
    from warpsmith.tuning.agents import NO_AGENT  # noqa: PLC0415 - loaded when used, so that `--help` stays fast

    notes = []
    low = result["general"]["ci95"][0]
    if not result["general"]["config"]:
        passes = "no pass had a choice to offer; `warpsmith templatize` says why, pass by pass"
        notes.append(f"Nothing to search: {'the kernel has no parameters' if result['agent'] == NO_AGENT else passes}.")
    elif result["general"]["config"] == result["baseline"]["config"]:
        notes.append("No gain found: the original configuration is the best that was measured.")
    elif low <= 1:
        notes.append("The interval includes 1: not distinguishable from the original.")
    evidence = result["evidence"]
    several = f"claims from {evidence['processes']} fresh processes (they differ by {evidence['process_spread'] - 1:.0%})"
    measured = several if evidence["processes"] > 1 else "the original's times from one fresh process"
    notes.append(
        f"{counted(result['evaluations'])} in {result['seconds']:.0f} s; {measured};"
        f" every time verified against {evidence['oracle']}."
    )
    notes += [f"The agent stopped early: {result['agent_stopped']}."] if result.get("agent_stopped") else []
    if result.get("model"):
        spent = result["model"]
        price = price_text(spent["usd"], unpriced=spent["unpriced"])
        notes.append(f"The model took {spent['tokens']:,} tokens, {price}: `warpsmith show {result['run']} --transcript`.")
    notes += _slowed(evidence)
    notes += _checked(evidence)
    notes += _rounds(result)
    notes += _warm(result)
    notes.append(_identity(result))
    notes.append(f"Run {result['run']}, stored in {_short(result['stored_in'])}")
    return [Text(note) for note in notes]


def _identity(result: Mapping[str, Any]) -> str:
    """What the winner is in relation to the original."""
    if result["mode"] != "direct":
        return f"The template at its defaults is the original: {result['template']['certificate']['detail']}."
    number = result["general"]["config"]["REWRITE"]
    winner = next((entry for entry in result["rewrites"] if entry["rewrite"] == number), None)
    return f"Rewrite {number} ({winner['hypothesis']}): {_short(winner['source'])}" if winner else "REWRITE=0 is the original."


def _slowed(evidence: Mapping[str, Any]) -> list[str]:
    """What the device itself says against its times."""
    reasons = dict.fromkeys(reason for reading in evidence.get("readings", ()) for reason in reading["slowed_by"])
    return [f"The device was slowed down while it was measured: {', '.join(reasons)}."] if reasons else []


def _checked(evidence: Mapping[str, Any]) -> list[str]:
    """What the device's checkers (compute-sanitizer) said of the configurations that were chosen."""
    checks = evidence.get("checks") or {"done": (), "out": {}, "not_done": ()}
    passed = [f"Checked by {' and '.join(checks['done'])}: what is claimed is clean."] if checks["done"] else []
    out = [f"Out although it was faster: {name} ({problem})." for name, problem in checks["out"].items()]
    return [*passed, *out, *(f"Not checked: {reason}." for reason in checks["not_done"])]


def _rounds(result: Mapping[str, Any]) -> list[str]:
    return [
        f"In round {entry['round']}: {entry['reason']}; {entry['evaluations']} evaluations, then {entry['speedup']:.2f}x."
        for entry in result["plan"]
        if entry["speedup"] is not None
    ]


def _warm(result: Mapping[str, Any]) -> list[str]:
    return [
        f"Started warm from {entry['evaluations']} evaluations of {entry['kernel']} on {entry['device']}"
        f" ({_short(entry['source'])})."
        for entry in result["warm"]
    ]


def _short(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + "/") else path


def _time(us: float) -> str:
    return f"{us / 1e3:.3f} ms" if us >= 1e3 else f"{us:.1f} µs"


def price_text(usd: float, *, unpriced: bool) -> str:
    """What models cost; without a known price for any of it, no figure."""
    if unpriced and not usd:
        return "at a price that is not known"
    return f"${usd:.4f}" + (" and calls of unknown price" if unpriced else "")


def counted(counts: Mapping[str, int]) -> str:
    words = {
        "Measured": "measured",
        "Infeasible": "infeasible",
        "CompileFailed": "failed to compile",
        "LaunchFailed": "failed to launch",
        "WrongResult": "wrong",
        "Crashed": "crashed",
        "TimedOut": "timed out",
    }
    return ", ".join(f"{count} {words[kind]}" for kind, count in counts.items() if count)


def _configuration(config: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in config.items()) or "(no parameters)"
