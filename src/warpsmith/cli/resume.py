"""`warpsmith resume`: go on with a run that was stopped or killed."""

from __future__ import annotations

from warpsmith.cli.options import JsonOption, RunArgument


def resume(run: RunArgument = "last", json: JsonOption = False) -> None:
    """Go on with a run that was interrupted or killed; nothing recorded is evaluated again."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.tune import finish  # noqa: PLC0415

    with progress() as emit:
        result = api.resume(run, emit=emit)
    finish(result, json=json)
