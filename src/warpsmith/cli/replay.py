"""`warpsmith replay`: strategies on recorded measurements."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from warpsmith.replay import Progress, ReplayTrial


def replay(
    spaces: Annotated[
        list[Path], typer.Argument(metavar="SPACE...", help="Kernel Tuner caches, T4 results, or folders with them.")
    ],
    strategy: Annotated[
        list[str] | None, typer.Option("--strategy", "-s", help="May be repeated; `tune`'s default else.")
    ] = None,
    evaluations: Annotated[int, typer.Option("--evaluations", "-n", help="Evaluations per trial.")] = 200,
    seeds: Annotated[int, typer.Option("--seeds", help="Trials per strategy and space.")] = 20,
    warm: Annotated[
        Path | None, typer.Option("--warm", metavar="SOURCE", help="Start from this record of the same kernel.")
    ] = None,
    warm_evaluations: Annotated[
        int, typer.Option("--warm-evaluations", help="Number of evaluations taken from the --warm record.")
    ] = 200,
    at_once: Annotated[int, typer.Option("--at-once", help="Concurrent evaluations, as on this many devices.")] = 1,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Number of processes; default: all cores. Does not change the result.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write trials.csv, summary.json and plots here.")] = None,
    json: JsonOption = False,
) -> None:
    """Simulate searches on recorded measurements: the fraction of the optimum by number of evaluations."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.search.registry import DEFAULT_STRATEGY  # noqa: PLC0415

    with _progress() as report:
        result = api.replay(
            spaces,
            strategies=strategy or (DEFAULT_STRATEGY,),
            evaluations=evaluations,
            seeds=seeds,
            warm=warm,
            warm_evaluations=warm_evaluations,
            at_once=at_once,
            jobs=jobs,
            output=output,
            progress=report,
        )
    if json:
        print_json(result.as_dict())
        return
    from warpsmith.cli.render_replay import render_replay  # noqa: PLC0415

    render_replay(result)


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """Elsewhere than on a terminal, a line after each tenth."""
    from warpsmith.cli.terminal import step_bar  # noqa: PLC0415

    finished = 0
    with step_bar("trials") as bar:

        def report(done: int, of: int, trial: ReplayTrial) -> None:
            nonlocal finished
            finished = done
            what = f"{trial.space} · {trial.strategy}"
            bar.show(done, of, what, line=what if done * 10 // of != (done - 1) * 10 // of else None)

        try:
            yield report
        except KeyboardInterrupt as stop:
            stop.add_note(f"after {finished} trials; nothing was written")
            raise
