"""`warpsmith init`: a kernel.toml skeleton from source, from a Kernel Tuner script or from a T1 file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .cu, .hip or .cl file; or a Kernel Tuner script (.py) or T1 file (.json).")
    ],
    kernel: Annotated[str | None, typer.Option("--kernel", "-k", help="Which kernel, when the file has several.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing kernel.toml.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a kernel.toml skeleton beside the source, to be filled in."""
    from warpsmith.core.errors import InputError, Location  # noqa: PLC0415
    from warpsmith.spec.kernel_tuner.draft import SUFFIXES, Draft, draft  # noqa: PLC0415
    from warpsmith.spec.skeleton import skeleton  # noqa: PLC0415

    found = draft(file, kernel) if file.suffix.lower() in SUFFIXES else Draft(skeleton(file, kernel))
    target = file.parent / "kernel.toml"
    files = {target: found.text} | dict([found.source] if found.source is not None else [])
    for path, text in files.items():
        is_same = path != target and path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text
        if path.exists() and not force and not is_same:
            raise InputError("already exists", location=Location(path), hint="--force overwrites it")
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    if json:
        written = {"source": str(found.source[0])} if found.source is not None else {}
        print_json({"kernel_toml": str(target), "text": found.text, **written})
        return
    for path in files:
        typer.echo(f"wrote {path}", err=True)
    typer.echo("next: fill in what it marks, then `warpsmith check` it", err=True)
