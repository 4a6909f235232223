"""Registers the commands. Each command imports what it needs when it runs, so that `--help` stays fast."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli import (
    analyze,
    check,
    compare,
    compare_runs,
    devices,
    doctor,
    export,
    extract,
    gate,
    init,
    mcp,
    profile,
    replay,
    report,
    resume,
    schema,
    show,
    space,
    templatize,
    tune,
    verify,
)

app = typer.Typer(
    name="warpsmith",
    help="Tune GPU kernels: every candidate verified, every claim measured with its uncertainty.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the decorated one costs 80 ms before the first word
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        typer.echo(f"warpsmith {version('warpsmith')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None: ...


# What the list of commands says of each must fit its line: cut off, it says nothing.
app.command("devices", short_help="List the devices that can run here, with their limits.")(devices.devices)
app.command("doctor", short_help="Show what works on this machine, and how to fix what does not.")(doctor.doctor)
app.command("init", short_help="Draft a kernel.toml for a source file.")(init.init)
app.command("extract", short_help="Extract a kernel and its dependencies from a code base.")(extract.extract)
app.command("check", short_help="Check a kernel.toml for errors and unfinished entries.")(check.check)
app.command("space", short_help="Count configurations, and what each constraint removes.")(space.space)
app.command("templatize", short_help="Refactor a kernel into a template and show the changes.")(templatize.templatize)
app.command("analyze", short_help="Report registers, spills and occupancy; no GPU needed.")(analyze.analyze)
app.command("profile", short_help="Count a launch's instructions and traffic; no GPU needed.")(profile.profile)
app.command("tune", short_help="Refactor, search, verify, measure, record.")(tune.tune)
app.command("show", short_help="List the runs, or show one.")(show.show)
app.command("resume", short_help="Resume a run that was stopped or killed.")(resume.resume)
app.command("report", short_help="Write the HTML report of a run.")(report.report)
app.command("export", short_help="Export the winner as files that do not need Warpsmith.")(export.export)
app.command("verify", short_help="Verify a kernel, an export or a run's winners.")(verify.verify)
app.command("gate", short_help="Check stored winners for wrong results and slowdowns.")(gate.gate)
app.command("compare", short_help="Compare direct rewriting with template + search.")(compare.compare)
app.command("compare-runs", short_help="Show what differs between two runs.")(compare_runs.compare_runs)
app.command("replay", short_help="Compare search strategies on recorded measurements.")(replay.replay)
app.command("schema", short_help="Print the JSON schemas of kernel.toml and of results.")(schema.schema)
app.command("mcp", short_help="Run the server for coding agents (Model Context Protocol).")(mcp.mcp)
