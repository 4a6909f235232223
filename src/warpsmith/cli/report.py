"""`warpsmith report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, RunArgument, print_json


def report(
    run: RunArgument = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; default: in the run's own folder.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a run as one HTML file that needs nothing else: result, plots, template, method, every evaluation."""
    from warpsmith import api  # noqa: PLC0415

    found = api.report_run(run, output)
    if json:
        print_json(found)
    else:
        typer.echo(found["report"])
