"""`warpsmith schema`: JSON schemas, for editors and for programs that read results."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json


class SchemaChoice(StrEnum):
    KERNEL = "kernel"
    RESULT = "result"


def schema(
    subject: Annotated[SchemaChoice, typer.Argument(help="kernel.toml, or the object that `tune --json` prints.")],
    _json: JsonOption = True,
) -> None:
    """Print the JSON schema of kernel.toml, or of the object that `tune`, `resume` and `show RUN` print with `--json`."""
    from warpsmith.api import json_schema  # noqa: PLC0415

    print_json(json_schema(subject.value))
