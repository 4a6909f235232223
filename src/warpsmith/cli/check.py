"""`warpsmith check`: errors and unfinished entries of a kernel.toml, without a device."""

from __future__ import annotations

import typer

from warpsmith.cli.options import JsonOption, KernelArgument, print_json
from warpsmith.core.errors import InputError

_PLURALS = {"mistake": "s", "unfinished": "", "warning": "s"}
_WITHOUT = {"heldout": "none", "constraints": "none", "reference": "none: results are compared with the original's"}


def check(kernel: KernelArgument = ".", json: JsonOption = False) -> None:
    """Check a kernel.toml: errors that would stop a run, and unfinished entries.

    Looks at kernel.toml, reference, source and template, those of this folder if no KERNEL is named. Needs no device.
    """
    from warpsmith.api import check_kernel, load_kernel  # noqa: PLC0415
    from warpsmith.api.checking import FindingLevel  # noqa: PLC0415
    from warpsmith.template import template_of  # noqa: PLC0415

    loaded = load_kernel(kernel)
    template, findings = template_of(loaded), check_kernel(loaded)
    counts = {level: sum(finding.level is level for finding in findings) for level in FindingLevel}
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
        "findings": [finding.entry for finding in findings],
        "notes": [finding.message for finding in findings if finding.level is FindingLevel.WARNING],
        "ok": not counts[FindingLevel.MISTAKE],
    }
    if json:
        print_json(facts)
        raise typer.Exit(InputError.exit_code if counts[FindingLevel.MISTAKE] else 0)
    verdict = ", ".join(f"{count} {level}{_PLURALS[level] if count > 1 else ''}" for level, count in counts.items() if count)
    typer.echo(f"{loaded.path}: {verdict or 'fine'}")
    for name in ("language", "entry", "source", "template", "arguments", "workloads", "heldout", "constraints", "reference"):
        value = facts[name]
        said = ", ".join(map(str, value)) if isinstance(value, list) else value
        typer.echo(f"  {name:<12} {said or _WITHOUT[name]}")
    for parameter in template.parameters:
        typer.echo(f"  {parameter.name:<12} {list(parameter.values)}, default {parameter.default}")
    for finding in findings:
        typer.echo(finding)
    raise typer.Exit(InputError.exit_code if counts[FindingLevel.MISTAKE] else 0)
