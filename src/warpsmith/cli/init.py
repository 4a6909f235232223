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
    kernel: Annotated[str | None, typer.Option("--kernel", "-k", help="Kernel name, if the file has several.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .toml file or a folder; default: kernel.toml next to FILE.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing kernel.toml.")] = False,
    json: JsonOption = False,
) -> None:
    """Draft a kernel.toml next to the source."""
    from warpsmith.core.errors import InputError, Location  # noqa: PLC0415
    from warpsmith.core.file_names import as_argument  # noqa: PLC0415
    from warpsmith.spec.bundled import FILE_NAME  # noqa: PLC0415
    from warpsmith.spec.kernel_tuner.draft import SUFFIXES, TomlDraft, draft  # noqa: PLC0415
    from warpsmith.spec.skeleton import skeleton  # noqa: PLC0415

    target = _target(file, output)
    is_foreign = file.suffix.lower() in SUFFIXES
    if is_foreign and target.parent.resolve() != file.parent.resolve():
        raise InputError(
            "a draft from Kernel Tuner must be in the folder of its script", location=Location(file), hint="-o NAME.toml"
        )
    if file.suffix.lower() == ".py":
        typer.echo(f"running {file} in a confined worker, with a stand-in for Kernel Tuner", err=True)
    found = draft(file, kernel) if is_foreign else TomlDraft(skeleton(file, kernel, target.parent))
    files = {target: found.text} | dict([found.source] if found.source is not None else [])
    for path, text in files.items():
        is_same = path != target and path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text
        if path.exists() and not force and not is_same:
            hint = "--force overwrites it; -o FILE.toml writes another"
            raise InputError("already exists", location=Location(path), hint=hint)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    if json:
        written = {"source": str(found.source[0])} if found.source is not None else {}
        print_json({"kernel_toml": str(target), "text": found.text, **written})
        return
    for path in files:
        typer.echo(f"wrote {path}", err=True)
    where = "" if target.parent == Path() and target.name == FILE_NAME else f" {as_argument(target)}"
    typer.echo(f"next: fill in what it marks, then `warpsmith check{where}`", err=True)


def _target(file: Path, output: Path | None) -> Path:
    from warpsmith.spec.bundled import FILE_NAME  # noqa: PLC0415

    if output is None:
        return file.parent / FILE_NAME
    target = output if output.suffix == ".toml" else output / FILE_NAME
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
