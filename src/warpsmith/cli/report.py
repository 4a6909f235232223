"""`warpsmith report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, RunArgument, print_json
from warpsmith.core.errors import InputError


def report(
    run: RunArgument = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file; default: in the run's folder.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="RUN", help="Another run to compare with in the report.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a run's report as one self-contained HTML file: result, plots, template, method, every evaluation.

    For a batch: a page that links to the reports of its runs.
    """
    from warpsmith import api  # noqa: PLC0415

    batch = api.is_batch(run)
    if batch is not None and compare is not None:
        raise InputError("--compare is for two runs, and this is a batch", hint=f"`warpsmith show {batch}` lists its runs")
    found = api.report_run(run, output, compare=compare) if batch is None else api.report_batch(batch, output)
    if json:
        print_json(found)
    else:
        typer.echo(found["report"])
