"""`warpsmith verify`: a run's winners, what was exported of them, or a kernel as it is, on inputs that nobody used yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def verify(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run's name, the beginning of it, `last`; a folder that `export` wrote; or a kernel's (`my_kernel/`).",
        ),
    ] = "last",
    device: Annotated[
        str | None, typer.Option("--device", "-d", help="Where to run; default: where the run was, or cpu.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many inputs of each workload.")] = 3,
    json: JsonOption = False,
) -> None:
    """Compile the winners and the original anew and verify them on every workload, with inputs that the run did not use.

    Of a kernel's folder the kernel as it is: against its reference, and for races.
    """
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.render_verify import render_verification  # noqa: PLC0415

    with progress() as emit:
        if _is_kernel(run):
            found = api.verify_kernel(api.load_kernel(run), device=device or "cpu", seeds=seeds, emit=emit)
        else:
            found = api.verify_run(run, device=device, seeds=seeds, emit=emit)
    if json:
        print_json(found)
    else:
        typer.echo(render_verification(found))
    if not found["passed"]:
        raise typer.Exit(1)


def _is_kernel(name: str) -> bool:
    """A path to one: a bare name is a run's, whatever lies here."""
    path = Path(name)
    return path.suffix == ".toml" or (("/" in name or name == ".") and (path / "kernel.toml").is_file())
