"""`warpsmith tune`: from a kernel to a verified, measured, recorded result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli.options import (
    JsonOption,
    LiveOption,
    LivePortOption,
    MaxTokensOption,
    MaxUsdOption,
    ProvedOnlyOption,
    print_json,
)

if TYPE_CHECKING:
    from warpsmith.api.result import Result
    from warpsmith.cli.live import Live


def tune(
    kernels: Annotated[
        list[str],
        typer.Argument(
            metavar="KERNEL",
            help="A kernel.toml, a folder with one, or the name of a bundled example; several kernels, or a "
            "folder of kernel folders, share one budget.",
        ),
    ],
    device: Annotated[
        str, typer.Option("--device", "-d", help="Where to run (`warpsmith devices`); cuda:0,cuda:1 searches on both.")
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
        typer.Option("--mode", help="template: refactor and search; direct: the agent writes one whole kernel per evaluation."),
    ] = "template",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Maximum rounds of refactoring and search.")] = 3,
    strategy: Annotated[
        str | None, typer.Option("--strategy", "-s", help="gp (the default), local, random, exhaustive, …, or a plug-in's name.")
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option("--evaluations", "-n", help="Maximum configurations to evaluate (100 per kernel unless --time is given)."),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", "-t", help="Maximum search time for all kernels, such as 90s, 5m, 1h.")
    ] = None,
    max_usd: MaxUsdOption = None,
    max_tokens: MaxTokensOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed of the strategy and of the inputs.")] = 0,
    warm: Annotated[
        list[str] | None,
        typer.Option(
            "--warm",
            metavar="SOURCE",
            help="Warm start from a run, `last`, a Kernel Tuner cache, a T4 file, or all known results (auto); repeatable.",
        ),
    ] = None,
    also_compile: Annotated[
        str | None,
        typer.Option(
            "--also-compile",
            metavar="TARGETS",
            help="Keep only configurations that also compile for and fit these targets: sm_90,gfx942 (no GPU needed).",
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="N|ray|ray://HOST:PORT",
            help="Number of compile processes (default: one per four cores); "
            "`ray` or ray://HOST:PORT: also search on a Ray cluster.",
        ),
    ] = None,
    proved_only: ProvedOnlyOption = False,
    knowledge: Annotated[
        bool, typer.Option("--knowledge/--no-knowledge", help="Give the agent results of earlier runs on similar kernels.")
    ] = True,
    live: LiveOption = False,
    live_port: LivePortOption = None,
    json: JsonOption = False,
) -> None:
    """Refactor the kernel, or use its own template, and search for the best configuration: verified, measured, recorded."""
    from warpsmith import api  # noqa: PLC0415
    from warpsmith.cli.live import live as live_page  # noqa: PLC0415
    from warpsmith.cli.progress import progress  # noqa: PLC0415
    from warpsmith.core.errors import InputError  # noqa: PLC0415
    from warpsmith.search.registry import DEFAULT_STRATEGY  # noqa: PLC0415
    from warpsmith.spec.several import is_several  # noqa: PLC0415
    from warpsmith.tuning.agent.allowance import Allowance  # noqa: PLC0415
    from warpsmith.tuning.budget import Budget, parse_duration  # noqa: PLC0415

    seconds = parse_duration(time) if time is not None else None
    # A time limit alone means: as many as fit.
    budget = Budget(evaluations, seconds) if evaluations is not None or seconds is not None else None
    options: dict[str, Any] = {
        "device": device,
        "strategy": strategy or DEFAULT_STRATEGY,
        "budget": budget,
        "seed": seed,
        "agent": agent,
        "mode": mode,
        "rounds": rounds,
        "allowance": Allowance(max_usd, max_tokens),
        "also_compile": [name.strip() for name in (also_compile or "").split(",") if name.strip()],
        "workers": int(workers) if workers is not None and workers.isdecimal() else workers,
        "proved_only": proved_only,
        "knowledge": knowledge,
    }
    if is_several(kernels):
        if warm:
            raise InputError("--warm takes one kernel: results of other kernels do not apply", hint="tune that kernel alone")
        with live_page(wanted=live, port=live_port) as shown:
            with progress() as emit:
                batch = api.tune_batch(kernels, **options, emit=shown.also(emit))
            become_summary(shown, batch)
        finish_batch(batch, json=json)
        return
    with live_page(wanted=live, port=live_port) as shown:
        with progress() as emit:
            result = api.tune(api.load_kernel(kernels[0]), **options, warm=warm or (), emit=shown.also(emit))
        shown.become(result["report"])
    finish(result, json=json)


def become_summary(shown: Live, batch: dict[str, Any]) -> None:
    """Without links to the other reports, which lie in files: a browser does not go there from a page of a server."""
    from warpsmith.report.html.batch import batch_page  # noqa: PLC0415

    shown.become_page(batch_page(batch, {}))


def finish(result: Result, *, json: bool) -> None:
    """Show a result and leave with the code that says what it was."""
    if json:
        print_json(result)
    else:
        from warpsmith.cli.render import render_result  # noqa: PLC0415

        render_result(result)
    if result["general"] is None:
        raise typer.Exit(1)


def finish_batch(result: dict[str, Any], *, json: bool) -> None:
    """As `finish`, of a batch: it leaves with 0 where each of its kernels has a verified result."""
    from warpsmith.tuning.batch.result import is_complete  # noqa: PLC0415

    if json:
        print_json(result)
    else:
        from warpsmith.cli.render_batch import render_batch  # noqa: PLC0415

        render_batch(result)
    if not is_complete(result):
        raise typer.Exit(1)
