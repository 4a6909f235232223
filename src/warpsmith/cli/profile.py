"""`warpsmith profile`: a kernel's counters on a GPU, without the hardware."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, KernelArgument, print_json


def profile(
    kernel: KernelArgument,
    target: Annotated[str, typer.Option("--target", "-t", help="sm_80, or a GPU of the catalogue such as a100-sxm-80gb.")],
    config: Annotated[
        str | None, typer.Option("--config", metavar="'A=1 B=2'", help="Of the template; without: the original.")
    ] = None,
    workload: Annotated[list[str] | None, typer.Option("--workload", help="Only this workload; repeatable.")] = None,
    json: JsonOption = False,
) -> None:
    """Count instructions, memory traffic and bank conflicts by source line, by emulating the machine code without a GPU."""
    from functools import partial  # noqa: PLC0415

    from warpsmith.analysis import parse_target  # noqa: PLC0415
    from warpsmith.analysis.profile import profile as run  # noqa: PLC0415
    from warpsmith.cli.render_profile import render_profile  # noqa: PLC0415
    from warpsmith.settings import read_settings  # noqa: PLC0415
    from warpsmith.spec.load import load_kernel  # noqa: PLC0415
    from warpsmith.spec.naming import named_workloads  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415
    from warpsmith.template.named import named_configuration  # noqa: PLC0415
    from warpsmith.verify.launch_arguments import launch_arguments  # noqa: PLC0415

    loaded = load_kernel(kernel)
    template = template_of(loaded)
    report = run(
        loaded,
        template,
        parse_target(target),
        configuration=named_configuration(template, config) if config is not None else loaded.default_configuration,
        workloads=named_workloads(loaded, workload or []),
        arguments=partial(launch_arguments, loaded),
        cache_dir=read_settings().binary_cache,
    )
    facts = {"kernel": loaded.name, **report.entry()}
    if json:
        print_json(facts)
    else:
        render_profile(facts)
