"""Options that several commands share, spelled once."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

KernelArgument = Annotated[
    str, typer.Argument(metavar="KERNEL", help="A kernel.toml, a folder with one, or the name of a bundled example.")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's name, the beginning of it, or `last`.")]
DeviceOption = Annotated[str, typer.Option("--device", "-d", help="Where to run; `warpsmith devices` lists them.")]
MaxUsdOption = Annotated[float | None, typer.Option("--max-usd", help="Most that a language model may cost (a run), in dollars.")]
MaxTokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Most tokens that a language model may take (a run).")]
ProvedOnlyOption = Annotated[
    bool, typer.Option("--proved-only", help="Leave out what the rules conjecture and only test on this device.")
]
LiveOption = Annotated[bool, typer.Option("--live", help="Serve a page on this machine that shows the run while it goes on.")]
LivePortOption = Annotated[
    int | None, typer.Option("--live-port", min=1, max=65535, help="--live on this port (default: a free one).")
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
