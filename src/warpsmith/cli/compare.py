"""`warpsmith compare`: direct rewriting against template + search, equal budgets, several seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli.options import DeviceOption, JsonOption, KernelArgument, MaxTokensOption, MaxUsdOption, print_json

if TYPE_CHECKING:
    from warpsmith.tuning.comparison.run import Progress, Step


def compare(
    kernel: KernelArgument,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of runs per mode.")] = 10,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations", "-n", help="Evaluations per run, including the original (default: 40 unless --time is given)."
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", "-t", help="Search time per run, including templates, such as 90s, 5m.")
    ] = None,
    device: DeviceOption = "cpu",
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="The agent that refactors and rewrites: rules, or PROVIDER:MODEL.")
    ] = "rules",
    strategy: Annotated[str | None, typer.Option("--strategy", "-s", help="Search strategy; default: `tune`'s default.")] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Maximum rounds of refactoring and search.")] = 3,
    max_usd: MaxUsdOption = None,
    max_tokens: MaxTokensOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for compare.md, compare.json and the plot.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare direct rewriting with template + search: speedups over seeds, measured together. Continues a stopped comparison."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.search.registry import DEFAULT_STRATEGY  # noqa: PLC0415
    from warpsmith.tuning.agent.allowance import Allowance  # noqa: PLC0415
    from warpsmith.tuning.budget import Budget, parse_duration  # noqa: PLC0415
    from warpsmith.tuning.comparison.plan import DEFAULT_EVALUATIONS  # noqa: PLC0415

    seconds = parse_duration(time) if time is not None else None
    count = evaluations if evaluations is not None or seconds is not None else DEFAULT_EVALUATIONS
    with _progress() as report:
        result = api.compare(
            api.load_kernel(kernel),
            seeds=seeds,
            budget=Budget(count, seconds),
            device=device,
            agent=agent,
            strategy=strategy or DEFAULT_STRATEGY,
            rounds=rounds,
            allowance=Allowance(max_usd, max_tokens),
            output=output,
            progress=report,
        )
    if json:
        print_json(result)
        return
    from warpsmith.cli.render_compare import render_compare  # noqa: PLC0415

    render_compare(result)


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """Elsewhere than on a terminal, a line for each run."""
    from warpsmith.cli.terminal import step_bar  # noqa: PLC0415

    said = ""
    with step_bar("runs") as bar:

        def report(step: Step) -> None:
            nonlocal said
            what = " · ".join(filter(None, (step.what, step.detail)))
            bar.show(step.done, step.of, what, line=step.what if step.what != said else None)
            said = step.what

        try:
            yield report
        except KeyboardInterrupt as stop:
            stop.add_note("everything measured so far is kept: the same command resumes it")
            raise
