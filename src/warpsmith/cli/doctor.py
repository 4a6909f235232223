"""`warpsmith doctor`: what works on this machine, what does not and how to fix it, ending in a verified launch."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json

_ENVIRONMENT = 3


def doctor(
    device: Annotated[list[str] | None, typer.Option("--device", "-d", help="Examine only this device; repeatable.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what works on this machine, and how to fix the rest; ends with a verified launch."""
    from warpsmith.api import examine  # noqa: PLC0415

    found = examine(device or ())
    if json:
        print_json(found)
    else:
        from warpsmith.cli.render_doctor import render_doctor  # noqa: PLC0415

        render_doctor(found)
    if not found["works"]:
        raise typer.Exit(_ENVIRONMENT)
