"""`warpsmith verify`: a run's winners, an export or a kernel, on fresh inputs."""

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
            help="A run's name, a prefix of it, or `last`; an export folder; or a kernel (`my_kernel/`).",
        ),
    ] = "last",
    device: Annotated[str | None, typer.Option("--device", "-d", help="The device; default: the run's device, or cpu.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of input sets per workload.")] = 3,
    json: JsonOption = False,
) -> None:
    """Recompile the winners and the original and verify them on every workload, with fresh inputs.

    For a kernel's folder: verify the unchanged kernel against its reference, and check for races.
    """
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.render_verify import render_verification  # noqa: PLC0415

    with progress() as emit:
        if is_kernel(run):
            found = api.verify_kernel(api.load_kernel(run), device=device or "cpu", seeds=seeds, emit=emit)
        else:
            found = api.verify_run(run, device=device, seeds=seeds, emit=emit)
    if json:
        print_json(found)
    else:
        typer.echo(render_verification(found))
    if not found["passed"]:
        raise typer.Exit(1)


def is_kernel(name: str) -> bool:
    """Whether it is a path to a kernel. A bare name is first a run, then a folder here, then a bundled kernel."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.export.earlier import is_export  # noqa: PLC0415
    from warpsmith.spec.bundled import FILE_NAME, bundled_names  # noqa: PLC0415

    path = Path(name)
    has_kernel = (path / FILE_NAME).is_file()
    if path.suffix == ".toml" or (has_kernel and ("/" in name or name == ".")):
        return True
    return (has_kernel or name in bundled_names()) and not is_export(name) and not api.is_run(name)
