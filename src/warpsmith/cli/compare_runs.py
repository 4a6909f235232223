"""`warpsmith compare-runs`: differences between two runs."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def compare_runs(
    first: Annotated[str, typer.Argument(metavar="A", help="A run's name, or a prefix of it.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other run, or `last`.")],
    json: JsonOption = False,
) -> None:
    """Show the differences from run A to run B: device, files, settings, configuration, and claims with their intervals."""
    from warpsmith import api  # noqa: PLC0415

    found = api.compare_runs(first, second)
    if json:
        print_json(found)
        return
    from warpsmith.cli.render_differences import render_differences  # noqa: PLC0415

    render_differences(found)
