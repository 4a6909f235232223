"""`warpsmith analyze`: resources of compiled configurations, without the hardware."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, KernelArgument, print_json

_DEFAULT_LIMIT = 500


def analyze(
    kernel: KernelArgument,
    target: Annotated[
        list[str],
        typer.Option("--target", "-t", help="sm_90, gfx942, cpu, or a GPU such as h100-sxm; repeatable."),
    ],
    limit: Annotated[int, typer.Option(min=0, help="Number of random configurations to compile; 0: all.")] = _DEFAULT_LIMIT,
    rank: Annotated[bool, typer.Option("--rank", help="Sort by estimated time on an NVIDIA GPU from the catalogue.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of compile processes (default: one per core).")] = None,
    json: JsonOption = False,
) -> None:
    """Report registers, spills, shared memory and occupancy of the original and of every configuration, without a GPU."""
    from functools import partial  # noqa: PLC0415

    from warpsmith.analysis import analyze as run  # noqa: PLC0415
    from warpsmith.analysis import parse_target  # noqa: PLC0415
    from warpsmith.cli.render_analysis import compiling, render_analysis  # noqa: PLC0415
    from warpsmith.settings import read_settings  # noqa: PLC0415
    from warpsmith.spec.load import load_kernel  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415
    from warpsmith.verify.launch_arguments import launch_arguments  # noqa: PLC0415

    loaded = load_kernel(kernel)
    template = template_of(loaded)
    targets = [parse_target(name) for name in dict.fromkeys(target)]
    cache_dir = read_settings().binary_cache
    reports = []
    for one in targets:
        with compiling(one.name) as progress:
            reports.append(
                run(
                    loaded,
                    template,
                    one,
                    limit=limit or None,
                    cache_dir=cache_dir,
                    arguments=partial(launch_arguments, loaded) if rank else None,
                    workers=workers,
                    progress=progress,
                )
            )
    facts = {"kernel": loaded.name, "targets": [report.entry() for report in reports]}
    if json:
        print_json(facts)
    else:
        render_analysis(facts)
    if any(report.original.problem is not None for report in reports):
        raise typer.Exit(1)
