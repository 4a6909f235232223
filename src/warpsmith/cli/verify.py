"""`warpsmith verify`: a run's winners, or what was exported of them, put through the device on inputs that nobody used yet."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def verify(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's name, the beginning of it, `last`, or a folder that `export` wrote.")
    ] = "last",
    device: Annotated[str | None, typer.Option("--device", "-d", help="Where to run; default: where the run was.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many inputs of each workload.")] = 3,
    json: JsonOption = False,
) -> None:
    """Compile the winners and the original anew and verify them on every workload, with inputs that the run did not use."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.render_verify import render_verification  # noqa: PLC0415

    with progress() as emit:
        found = api.verify_run(run, device=device, seeds=seeds, emit=emit)
    if json:
        print_json(found)
    else:
        typer.echo(render_verification(found))
    if not found["passed"]:
        raise typer.Exit(1)
