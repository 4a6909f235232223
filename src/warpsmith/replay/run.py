"""`replay()`: from files and names to a result. Validates the request before any trial starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from warpsmith.core.errors import InputError, Location
from warpsmith.core.output_folder import require_output_folder
from warpsmith.record.foreign import Recording, load_recording, load_recordings
from warpsmith.replay.plan import ReplayPlan, ReplayTrial, Warm
from warpsmith.replay.pool import run_trials
from warpsmith.replay.result import ReplayResult, collect
from warpsmith.replay.trial import Trace
from warpsmith.search.base import Learner
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy

Progress: TypeAlias = Callable[[int, int, ReplayTrial], None]


def replay(
    spaces: Iterable[Path | str],
    *,
    strategies: Sequence[str] = (DEFAULT_STRATEGY,),
    evaluations: int = 200,
    seeds: int = 20,
    warm: Path | str | None = None,
    warm_evaluations: int = 200,
    at_once: int = 1,
    jobs: int | None = None,
    output: Path | str | None = None,
    progress: Progress = lambda _done, _of, _trial: None,
) -> ReplayResult:
    """Search every recording (or all in a folder) with every strategy and seed, as if it were live.

    The same arguments give the same result, whatever `jobs` is. `at_once` evaluations are under way, as on so many devices:
    the next is chosen without the results of all but one of them. `output` is a folder for trials.csv, summary.json and plots.
    """
    if output is not None:
        require_output_folder(Path(output))
    _at_least_one(evaluations=evaluations, seeds=seeds, warm_evaluations=warm_evaluations, at_once=at_once, jobs=jobs)
    recordings = {recording.name: recording for recording in load_recordings(spaces)}
    source = None if warm is None else load_recording(warm)
    plan = ReplayPlan(
        files={name: recording.file for name, recording in recordings.items()},
        strategies=tuple(dict.fromkeys(strategies)),
        seeds=seeds,
        evaluations=evaluations,
        warm=None if source is None else Warm(source.file, source.name, warm_evaluations),
        at_once=at_once,
    )
    _check_strategies(plan, next(iter(recordings.values())))
    if source is not None:
        _check_source(source, recordings.values())
    traces: dict[ReplayTrial, Trace] = {}
    total = len(plan.trials)
    known = [*recordings.values(), *([] if source is None else [source])]
    for trial, trace in run_trials(plan, min(jobs or len(os.sched_getaffinity(0)), total), known):
        traces[trial] = trace
        progress(len(traces), total, trial)
    result = collect(plan, recordings, traces)
    if output is not None:
        from warpsmith.replay.output import write_result  # noqa: PLC0415 - plotting libraries only when there is something to plot

        write_result(result, Path(output))
    return result


def _at_least_one(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"--{name.replace('_', '-')} must be at least 1, not {count}")


def _check_strategies(plan: ReplayPlan, example: Recording) -> None:
    for name in plan.strategies:
        strategy = load_strategy(name)(example.space, np.random.default_rng(0))
        if plan.warm is not None and not isinstance(strategy, Learner):
            raise InputError(
                f"strategy {name!r} cannot start from an earlier record", hint="omit --warm, or choose another strategy"
            )


def _check_source(source: Recording, targets: Iterable[Recording]) -> None:
    known = {parameter.name for parameter in source.space.parameters}
    for target in targets:
        wanted = {parameter.name for parameter in target.space.parameters}
        if not known & wanted:
            message = f"{source.name} has none of the parameters of {target.name}: {_listed(known)} against {_listed(wanted)}"
            hint = "a warm start needs a record of the same kernel from another device or workload"
            raise InputError(message, location=Location(source.file), hint=hint)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
