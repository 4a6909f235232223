"""Registers the commands. Each command imports what it needs when it runs, so that `--help` stays fast."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli import (
    analyze,
    check,
    compare,
    devices,
    export,
    extract,
    init,
    mcp,
    replay,
    report,
    resume,
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
    add_completion=False,
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


app.command("devices")(devices.devices)
app.command("init")(init.init)
app.command("extract")(extract.extract)
app.command("check")(check.check)
app.command("space")(space.space)
app.command("templatize")(templatize.templatize)
app.command("analyze")(analyze.analyze)
app.command("tune")(tune.tune)
app.command("show")(show.show)
app.command("resume")(resume.resume)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("verify")(verify.verify)
app.command("compare")(compare.compare)
app.command("replay")(replay.replay)
app.command("mcp")(mcp.mcp)
