"""`warpsmith space`: the number of configurations, what each constraint removes, why one is infeasible."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import DeviceOption, JsonOption, KernelArgument, print_json


def space(
    kernel: KernelArgument,
    device: DeviceOption = "cpu",
    why: Annotated[
        str | None, typer.Option("--why", metavar="'A=1 B=2'", help="Explain whether this configuration is feasible.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Count the feasible configurations, what each constraint removes, and explain why one is infeasible."""
    from warpsmith.api import describe_device, load_kernel  # noqa: PLC0415
    from warpsmith.space import space_of  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415
    from warpsmith.template.named import named_configuration  # noqa: PLC0415

    loaded = load_kernel(kernel)
    template = template_of(loaded)
    built = space_of(loaded, template, describe_device(device).limits)
    facts = {
        "kernel": loaded.name,
        "device": device,
        "cartesian_size": built.cartesian_size,
        "feasible": built.size,
        "parameters": {p.name: list(p.values) for p in template.parameters},
        "removed": [
            {"constraint": r.constraint, "reason": r.reason, "removes": r.count, "estimate": r.estimate} for r in built.removed
        ],
        "likely": [expected.entry for expected in template.likely],
    }
    if why is not None:
        configuration = named_configuration(template, why)
        facts["configuration"] = dict(configuration.pairs)
        facts["violations"] = [str(v) for v in built.explain(configuration)]
    if json:
        print_json(facts)
        return
    from warpsmith.cli.render import render_space  # noqa: PLC0415

    render_space(facts)
