"""Options that several commands share, spelled once."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

KernelArgument = Annotated[
    str, typer.Argument(metavar="KERNEL", help="A kernel.toml, a folder with one, or the name of a bundled example.")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's name, a prefix of it, or `last`.")]
DeviceOption = Annotated[str, typer.Option("--device", "-d", help="The device; `warpsmith devices` lists them.")]
MaxUsdOption = Annotated[float | None, typer.Option("--max-usd", help="Maximum cost of language models per run, in dollars.")]
MaxTokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Maximum tokens of language models per run.")]
ProvedOnlyOption = Annotated[
    bool, typer.Option("--proved-only", help="Skip changes that are only tested on this device, not proved.")
]
LiveOption = Annotated[bool, typer.Option("--live", help="Serve a local web page that shows the run's progress.")]
LivePortOption = Annotated[
    int | None, typer.Option("--live-port", min=1, max=65535, help="Port for --live (default: any free port).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(data: dict[str, Any]) -> None:
    typer.echo(json.dumps(_finite(data), indent=2, default=str, allow_nan=False))


def _finite(data: Any) -> Any:
    """JSON has no infinity and no NaN: null says that there is no such number."""
    match data:
        case float():
            return data if math.isfinite(data) else None
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data
