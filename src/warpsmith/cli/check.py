"""`warpsmith check`: the specification, the template and the constraints, without a device."""

from __future__ import annotations

import typer

from warpsmith.cli.options import JsonOption, KernelArgument, print_json

_WITHOUT = {"heldout": "none", "constraints": "none", "reference": "none: the original is what results are compared with"}


def check(kernel: KernelArgument, json: JsonOption = False) -> None:
    """Check kernel.toml, template and constraints; needs no device."""
    from warpsmith.api import load_kernel  # noqa: PLC0415
    from warpsmith.spec.launch_notes import launch_notes  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415

    loaded = load_kernel(kernel)
    template, notes = template_of(loaded), launch_notes(loaded)
    facts = {
        "kernel": loaded.name,
        "language": loaded.language.value,
        "entry": loaded.entry,
        "source": str(loaded.source),
        "template": str(template.path),
        "arguments": [argument.name for argument in loaded.arguments],
        "workloads": [w.name for w in loaded.tuning_workloads],
        "heldout": [w.name for w in loaded.heldout_workloads],
        "parameters": {p.name: list(p.values) for p in template.parameters},
        "constraints": [str(c.expression) for c in template.constraints],
        "reference": f"{loaded.reference.file}:{loaded.reference.function}" if loaded.reference.file else None,
        "notes": notes,
        "ok": True,
    }
    if json:
        print_json(facts)
        return
    typer.echo(f"{loaded.path}: fine")
    for name in ("language", "entry", "source", "template", "arguments", "workloads", "heldout", "constraints", "reference"):
        value = facts[name]
        said = ", ".join(map(str, value)) if isinstance(value, list) else value
        typer.echo(f"  {name:<12} {said or _WITHOUT[name]}")
    for parameter in template.parameters:
        typer.echo(f"  {parameter.name:<12} {list(parameter.values)}, default {parameter.default}")
    for note in notes:
        typer.echo(f"note: {note}")
