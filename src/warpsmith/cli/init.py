"""`warpsmith init`: a kernel.toml skeleton from source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .cu, .hip or .cl file.")],
    kernel: Annotated[str | None, typer.Option("--kernel", "-k", help="Which kernel, when the file has several.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing kernel.toml.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a kernel.toml skeleton beside the source, to be filled in."""
    from warpsmith.core.errors import InputError, Location  # noqa: PLC0415
    from warpsmith.spec.skeleton import skeleton  # noqa: PLC0415

    text = skeleton(file, kernel)
    target = file.parent / "kernel.toml"
    if target.exists() and not force:
        raise InputError("already exists", location=Location(target), hint="--force overwrites it")
    target.write_text(text)
    if json:
        print_json({"kernel_toml": str(target), "text": text})
        return
    typer.echo(f"wrote {target}", err=True)
    typer.echo("next: fill in what it marks, then `warpsmith check` it", err=True)
