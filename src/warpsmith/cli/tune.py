"""`warpsmith tune`: from a kernel to a verified, measured, recorded result."""

from __future__ import annotations

from typing import Annotated

import typer

from warpsmith.cli.options import JsonOption, KernelArgument, MaxTokensOption, MaxUsdOption, print_json


def tune(
    kernel: KernelArgument,
    device: Annotated[
        str, typer.Option("--device", "-d", help="Where to run (`warpsmith devices`); cuda:0,cuda:1: several search together.")
    ] = "cpu",
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            "-a",
            help="rules: refactor the original; PROVIDER:MODEL: a language model does; none: search the kernel's own "
            "template (the default where it has one, else rules).",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option("--mode", help="template: refactor and search; direct: the agent rewrites the kernel for each evaluation."),
    ] = "template",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Most rounds of refactoring and search.")] = 3,
    strategy: Annotated[
        str | None, typer.Option("--strategy", "-s", help="gp (the default), local, random, exhaustive, …, or a plug-in's name.")
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option("--evaluations", "-n", help="Most configurations to evaluate (100 unless --time is given)."),
    ] = None,
    time: Annotated[str | None, typer.Option("--time", "-t", help="Most time to search, such as 90s, 5m, 1h.")] = None,
    max_usd: MaxUsdOption = None,
    max_tokens: MaxTokensOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the strategy and of the inputs.")] = 0,
    warm: Annotated[
        list[str] | None,
        typer.Option("--warm", metavar="SOURCE", help="Start from a run, `last`, a Kernel Tuner cache or a T4 file; repeatable."),
    ] = None,
    also_compile: Annotated[
        str | None,
        typer.Option("--also-compile", metavar="TARGETS", help="Keep only what can run there too: sm_90,gfx942 (no GPU needed)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Compile in so many processes (default: one for each four cores).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Refactor the kernel, or take its own template, and search for the best configuration: verified, measured, recorded."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.search.registry import DEFAULT_STRATEGY  # noqa: PLC0415
    from warpsmith.tuning.agent.allowance import Allowance  # noqa: PLC0415
    from warpsmith.tuning.budget import Budget, parse_duration  # noqa: PLC0415

    seconds = parse_duration(time) if time is not None else None
    # A time limit alone means: as many as fit.
    count = evaluations if evaluations is not None or seconds is not None else Budget().evaluations
    with progress() as emit:
        result = api.tune(
            api.load_kernel(kernel),
            device=device,
            strategy=strategy or DEFAULT_STRATEGY,
            budget=Budget(count, seconds),
            seed=seed,
            warm=warm or (),
            agent=agent,
            mode=mode,
            rounds=rounds,
            allowance=Allowance(max_usd, max_tokens),
            also_compile=[name.strip() for name in (also_compile or "").split(",") if name.strip()],
            workers=workers,
            emit=emit,
        )
    finish(result, json=json)


def finish(result: dict[str, object], *, json: bool) -> None:
    """Show a result and leave with the code that says what it was."""
    if json:
        print_json(result)
    else:
        from warpsmith.cli.render import render_result  # noqa: PLC0415

        render_result(result)
    if result["general"] is None:
        raise typer.Exit(1)
