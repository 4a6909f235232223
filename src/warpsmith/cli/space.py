"""`warpsmith space`: how many configurations there are, what each constraint removes, why one is out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli.options import DeviceOption, JsonOption, KernelArgument, print_json
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError

if TYPE_CHECKING:
    from warpsmith.template import Template


def space(
    kernel: KernelArgument,
    device: DeviceOption = "cpu",
    why: Annotated[str | None, typer.Option("--why", metavar="'A=1 B=2'", help="Explain one configuration.")] = None,
    json: JsonOption = False,
) -> None:
    """The feasible configurations: their number, what each constraint removes, why one is out."""
    from warpsmith.api import describe_device, load_kernel  # noqa: PLC0415
    from warpsmith.space import space_of  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415

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
        configuration = _configuration(template, why)
        facts["configuration"] = dict(configuration.pairs)
        facts["violations"] = [str(v) for v in built.explain(configuration)]
    if json:
        print_json(facts)
        return
    from warpsmith.cli.render import render_space  # noqa: PLC0415

    render_space(facts)


def _configuration(template: Template, text: str) -> Configuration:
    """`A=1 B=2`, the rest at their defaults."""
    values: dict[str, Value] = {p.name: p.default for p in template.parameters}
    candidates = {p.name: p.values for p in template.parameters}
    for item in text.replace(",", " ").split():
        name, _, written = item.partition("=")
        if name not in candidates:
            raise InputError(f"{name!r} is not a parameter", hint=f"the parameters are {', '.join(candidates)}")
        matching = [value for value in candidates[name] if str(value) == written]
        if not matching:
            raise InputError(
                f"{name}={written} is not among its values", hint=f"{name} may be {', '.join(map(str, candidates[name]))}"
            )
        values[name] = matching[0]
    return Configuration.of(values)
