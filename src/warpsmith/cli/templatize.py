"""`warpsmith templatize`: from a kernel to a template whose default is the kernel, with the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import (
    DeviceOption,
    JsonOption,
    KernelArgument,
    MaxTokensOption,
    MaxUsdOption,
    ProvedOnlyOption,
    print_json,
)


def templatize(
    kernel: KernelArgument,
    device: DeviceOption = "cpu",
    agent: Annotated[
        str, typer.Option("--agent", help="`rules`: passes only; PROVIDER:MODEL: a model also writes a form.")
    ] = "rules",
    passes: Annotated[
        str | None, typer.Option("--passes", metavar="A,B", help="Apply only these passes, in pipeline order.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Output folder; default: under WARPSMITH_HOME.")
    ] = None,
    max_usd: MaxUsdOption = None,
    max_tokens: MaxTokensOption = None,
    proved_only: ProvedOnlyOption = False,
    json: JsonOption = False,
) -> None:
    """Refactor a kernel into a template; prints its diff, parameters and identity certificate."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.tuning.agent.allowance import Allowance  # noqa: PLC0415

    names = [name.strip() for name in passes.split(",") if name.strip()] if passes is not None else None
    with progress() as emit:
        result = api.templatize(
            api.load_kernel(kernel),
            device=device,
            passes=names,
            agent=agent,
            allowance=Allowance(max_usd, max_tokens),
            output=output,
            proved_only=proved_only,
            emit=emit,
        )
    if json:
        print_json(result)
        return
    from warpsmith.cli.render_templatize import render_template  # noqa: PLC0415

    render_template(result)
