"""`warpsmith show`: the runs, or one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json
from warpsmith.core.errors import InputError


def show(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's name, a prefix of it, or `last`.")] = None,
    evaluations: Annotated[bool, typer.Option("--evaluations", help="List every evaluation and its outcome.")] = False,
    importance: Annotated[bool, typer.Option("--importance", help="Estimate which parameters mattered.")] = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Show the conversation with language models, round by round.")
    ] = False,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Print questions and answers of models in the format of `--agent replay:FILE`.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write importance plots to this folder.")] = None,
    json: JsonOption = False,
) -> None:
    """List the runs and batches, or show one: its result; optionally evaluations, parameter importance, conversations."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli import render  # noqa: PLC0415

    if output is not None and not (run and importance):
        raise InputError("--output needs one run and --importance", hint="warpsmith show RUN --importance -o DIR")
    if run is None:
        _list(json=json)
        return
    if (batch := api.is_batch(run)) is not None and not (evaluations or importance or transcript or conversation):
        _show_batch(batch, json=json)
        return
    if conversation:
        typer.echo(api.run_conversation(run), nl=False)
        return
    result = api.show_run(run, evaluations=evaluations, importance=importance, transcript=transcript, output=output)
    if json:
        print_json(result)
        return
    if transcript:
        from warpsmith.cli.render_transcript import render_transcript  # noqa: PLC0415

        render_transcript(result["transcript"])
        return
    render.render_result(result)
    if importance:
        from warpsmith.cli.render_importance import render_importance  # noqa: PLC0415

        render_importance(result["importance"])


def _list(*, json: bool) -> None:
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli import render  # noqa: PLC0415

    runs, batches = api.list_runs(), api.list_batches()
    for entry in runs:
        if entry["status"] == "unreadable":
            warning = f"warning: run {entry['run']} is damaged in the record: it cannot be shown or resumed; other runs can"
            typer.echo(warning, err=True)
    if json:
        print_json({"runs": runs, "batches": batches})
        return
    render.render_runs(runs)
    if batches:
        render.render_batches(batches)


def _show_batch(batch: str, *, json: bool) -> None:
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.render_batch import render_batch  # noqa: PLC0415

    shown = api.show_batch(batch)
    if json:
        print_json(shown)
    else:
        render_batch(shown)
