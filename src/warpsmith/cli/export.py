"""`warpsmith export`: a run's winner as files that do not need Warpsmith."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, RunArgument, print_json


def export(
    run: RunArgument = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Output folder; default: under WARPSMITH_HOME.")
    ] = None,
    format_name: Annotated[
        str, typer.Option("--format", "-f", help="source, header, torch, kernel-tuner, or a plug-in's.")
    ] = "source",
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compile and verify the exported files on every workload.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Export even if there is no significant gain.")] = False,
    json: JsonOption = False,
) -> None:
    """Export the winning configuration as standalone source, with its launch and provenance."""
    from warpsmith import api  # noqa: PLC0415

    found = api.export_run(run, output, format_name=format_name, verify=verify, force=force)
    if json:
        print_json(found)
        return
    claim = found["general"]["claim"]
    low, high = claim["ci95"]
    typer.echo(f"{found['kernel']}: {claim['speedup']:.3f}x the original (95 % interval {low:.3f} to {high:.3f})")
    for name in found["files"]:
        typer.echo(f"  {Path(found['folder']) / name}")
    typer.echo(f"  {found['manifest']}")
    for warning in found["warnings"]:
        typer.echo(f"warning: {warning}", err=True)
    if found["recheck"] is None:
        typer.echo("the exported files were not verified (--no-verify)", err=True)
    else:
        typer.echo(f"verified as written, on {len(found['dispatch'])} workloads", err=True)
