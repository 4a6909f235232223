"""`warpsmith extract`: a standalone kernel from a larger code base, with a kernel.toml to fill in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


def extract(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="The .cu, .cuh or .hip file that has the kernel, or includes it.")
    ],
    kernel: Annotated[str, typer.Option("--kernel", "-k", metavar="NAME", help="Which kernel; with its namespace if need be.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write the source and its kernel.toml.")],
    instance: Annotated[
        str | None, typer.Option("--instance", metavar='"k<…>"', help="Which instance, if the kernel is a template.")
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option(
            "-I", "--include", metavar="DIR", help="A folder with headers of the code base; other headers stay #includes."
        ),
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option("-D", "--define", metavar="NAME=VALUE", help="A macro that decides #ifs, such as __CUDA_ARCH__=900."),
    ] = None,
    unpack: Annotated[
        bool, typer.Option("--unpack", help="Make plain parameters of the structures that the kernel takes by value.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is in the folder.")] = False,
    json: JsonOption = False,
) -> None:
    """Take a kernel out of its code base, with all that it needs and nothing else."""
    from warpsmith.core.errors import InputError, Location  # noqa: PLC0415
    from warpsmith.source import extract as extraction  # noqa: PLC0415

    request = extraction.ExtractRequest(source, kernel, instance, tuple(include or ()), _macros(define or []), unpack)
    found = extraction.extract(request)
    for target in (output / found.source_name, output / "kernel.toml"):
        if target.exists() and not force:
            raise InputError("already exists", location=Location(target), hint="--force overwrites it")
    source_file, spec_file = found.write(output)
    if json:
        print_json(
            {
                "kernel": found.name,
                "entry": found.entry,
                "source": str(source_file),
                "kernel_toml": str(spec_file),
                "lines": found.source_text.count("\n"),
                "files": {str(file): lines for file, lines in found.files.items()},
                "includes": list(found.includes),
                "unknown": list(found.unknown),
            }
        )
        return
    typer.echo(f"wrote {source_file}: {found.source_text.count(chr(10))} lines, out of {len(found.files)} files", err=True)
    typer.echo(f"wrote {spec_file} for {found.entry}", err=True)
    for namespace in found.unknown:
        typer.echo(
            f"note: nothing declares the namespace {namespace}, which the code opens; -I with its headers, if it is needed",
            err=True,
        )
    typer.echo("next: fill in what it marks, then `warpsmith check` it", err=True)


def _macros(given: list[str]) -> dict[str, str]:
    from warpsmith.core.errors import InputError  # noqa: PLC0415

    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(f"-D {text}: {name!r} is not a macro's name", hint="as in -D NAME=VALUE")
        found[name] = value or "1"
    return found
