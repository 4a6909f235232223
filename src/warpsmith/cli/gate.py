"""`warpsmith gate`: stored winners, verified and measured again, against what was accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import DeviceOption, JsonOption, print_json


def gate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Contains the kernels' folders, with the exports inside them.")
    ],
    baseline: Annotated[Path, typer.Option("--baseline", "-b", metavar="FILE", help="The file of accepted figures.")],
    device: DeviceOption = "cpu",
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="Also compile for this target and compare registers, spills and occupancy; no GPU needed."),
    ] = None,
    no_time: Annotated[bool, typer.Option("--no-time", help="Verify and compile only, without timing.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Accept the current figures: rewrite the baseline file.")] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of input sets per workload.")] = 1,
    find: Annotated[float, typer.Option("--find", help="The smallest slowdown to detect; 0.05: 5 % longer.")] = 0.05,
    tolerance: Annotated[float, typer.Option("--tolerance", help="The largest slowdown that passes.")] = 0.02,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write a table in Markdown.")] = None,
    json: JsonOption = False,
) -> None:
    """Verify the winners stored in a folder and time them against their originals: finds wrong results and slowdowns.

    Exit code 1 if a check fails.
    """
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.api.gating import write_report  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.render_gate import render_gate  # noqa: PLC0415
    from warpsmith.report.gate import junit as as_junit  # noqa: PLC0415
    from warpsmith.report.gate import markdown as as_markdown  # noqa: PLC0415

    with progress() as emit:
        found = api.gate_winners(
            folder,
            baseline,
            device=device,
            targets=target or (),
            times=not no_time,
            update=update,
            seeds=seeds,
            find=find,
            tolerance=tolerance,
            emit=emit,
        )
    if junit is not None:
        write_report(as_junit(found), junit)
    if markdown is not None:
        write_report(as_markdown(found), markdown)
    if json:
        print_json(found)
    else:
        render_gate(found)
    if not found["passed"]:
        raise typer.Exit(1)
