"""`warpsmith resume`: resume a run or a batch that was stopped or killed."""

from __future__ import annotations

from warpsmith.cli.options import JsonOption, LiveOption, LivePortOption, RunArgument


def resume(
    run: RunArgument = "last", live: LiveOption = False, live_port: LivePortOption = None, json: JsonOption = False
) -> None:
    """Resume a run or a batch that was interrupted or killed; recorded evaluations are not repeated."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.live import live as live_page  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.cli.tune import become_summary, finish, finish_batch  # noqa: PLC0415

    if (batch := api.is_batch(run)) is not None:
        with live_page(wanted=live, port=live_port) as shown:
            with progress() as emit:
                whole = api.resume_batch(batch, emit=shown.also(emit))
            become_summary(shown, whole)
        finish_batch(whole, json=json)
        return
    with live_page(wanted=live, port=live_port) as shown:
        with progress() as emit:
            result = api.resume(run, emit=shown.also(emit))
        shown.become(result["report"])
    finish(result, json=json)
