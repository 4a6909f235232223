"""`warpsmith extract`: a standalone kernel from a larger code base, with a kernel.toml to fill in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli.options import JsonOption, print_json
from warpsmith.core.file_names import as_argument

if TYPE_CHECKING:
    from warpsmith.source.extract import Extraction


def extract(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="The .cu, .cuh or .hip file that defines or includes the kernel.")
    ],
    kernel: Annotated[
        str,
        typer.Option("--kernel", "-k", metavar="NAME", help="Kernel name, with namespace or template arguments where ambiguous."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Output folder for the source and its kernel.toml; default: ./NAME."),
    ] = None,
    instance: Annotated[
        str | None, typer.Option("--instance", metavar='"k<…>"', help="Template arguments, if the kernel is a template.")
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option("-I", "--include", metavar="DIR", help="Header folder of the code base; headers elsewhere stay #includes."),
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option(
            "-D", "--define", metavar="NAME=VALUE", help="Define a macro for #if conditions, such as __CUDA_ARCH__=900."
        ),
    ] = None,
    unpack: Annotated[
        bool, typer.Option("--unpack", help="Replace structures passed by value with one parameter per member.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files in the folder.")] = False,
    json: JsonOption = False,
) -> None:
    """Extract a kernel from its code base, with exactly its dependencies."""
    from warpsmith.core.errors import InputError, Location  # noqa: PLC0415
    from warpsmith.core.output_folder import require_output_folder  # noqa: PLC0415
    from warpsmith.source import extract as extraction  # noqa: PLC0415

    if output is not None:
        require_output_folder(output)
    name, line, arguments = _kernel(kernel)
    wanted = name + arguments if arguments and instance is None else instance
    request = extraction.ExtractRequest(source, name, wanted, tuple(include or ()), _macros(define or []), unpack, line)
    found = extraction.extract(request)
    folder = output or Path(found.name)
    for target in (folder / found.source_name, folder / "kernel.toml"):
        if target.exists() and not force:
            raise InputError("already exists", location=Location(target), hint="--force overwrites it")
    source_file, spec_file = found.write(folder)
    if json:
        print_json(_entry(found, source_file, spec_file))
        return
    _tell(found, source_file, spec_file)


def _entry(found: Extraction, source_file: Path, spec_file: Path) -> dict[str, Any]:
    return {
        "kernel": found.name,
        "entry": found.entry,
        "source": str(source_file),
        "kernel_toml": str(spec_file),
        "lines": found.source_text.count("\n"),
        "files": {str(file): lines for file, lines in found.files.items()},
        "includes": list(found.includes),
        "unknown": list(found.unknown),
        "folders": list(map(str, found.folders)),
        "assumed": dict(found.assumed),
        "had_nothing_to_unpack": found.had_nothing_to_unpack,
    }


def _tell(found: Extraction, source_file: Path, spec_file: Path) -> None:
    typer.echo(f"wrote {source_file}: {found.source_text.count(chr(10))} lines, out of {len(found.files)} files", err=True)
    typer.echo(f"wrote {spec_file} for {found.entry}", err=True)
    for place in found.folders:
        typer.echo(f"note: the code base has headers in {place}; -I adds a folder", err=True)
    for name, value in found.assumed.items():
        typer.echo(f"note: the code tests {name}; assuming {value}, the architecture (-D {name}=… for another)", err=True)
    if found.had_nothing_to_unpack:
        typer.echo("note: the kernel takes no structure by value, so --unpack changes nothing", err=True)
    for namespace in found.unknown:
        typer.echo(
            f"note: nothing declares the namespace {namespace}, which the code opens; -I with its headers, if it is needed",
            err=True,
        )
    typer.echo(f"next: fill in what it marks, then `warpsmith check {as_argument(spec_file.parent)}`", err=True)


def _kernel(given: str) -> tuple[str, int | None, str]:
    """`space::name:12<float>`: its name, a line of it and its template arguments."""
    name, opens, arguments = given.partition("<")
    numbered = re.fullmatch(r"(.*[^:]):(\d+)", name.strip())
    return (numbered[1], int(numbered[2]), opens + arguments) if numbered else (name.strip(), None, opens + arguments)


def _macros(given: list[str]) -> dict[str, str]:
    from warpsmith.core.errors import InputError  # noqa: PLC0415

    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(f"-D {text}: {name!r} is not a macro's name", hint="as in -D NAME=VALUE")
        found[name] = value or "1"
    return found
