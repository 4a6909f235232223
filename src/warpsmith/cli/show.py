"""`warpsmith show`: the runs, or one run."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def show(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's name, the beginning of it, or `last`.")] = None,
    evaluations: Annotated[bool, typer.Option("--evaluations", help="List every evaluation with its outcome.")] = False,
    json: JsonOption = False,
) -> None:
    """List the runs, or show one: its result, and its evaluations if asked."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli import render  # noqa: PLC0415

    if run is None:
        runs = api.list_runs()
        if json:
            print_json({"runs": runs})
        else:
            render.render_runs(runs)
        return
    result = api.show_run(run, evaluations=evaluations)
    if json:
        print_json(result)
    else:
        render.render_result(result)
