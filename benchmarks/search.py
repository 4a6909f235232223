"""Strategies beside Kernel Tuner's on recorded measurements: the fraction of the optimum by unique evaluations.

    python -m benchmarks.search FOLDER [--strategy S]… [--seeds 20] [--evaluations 200] [--output DIR]

or `python -m benchmarks search` with the folder of caches in WARPSMITH_SPACES; without any, a space that PyPI has. The caches are
not part of the project; more public ones are in the AutoTuning Association's benchmark_hub. Kernel Tuner is in the group `bench`;
without it ours run alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import kernel_tuner_peer
from benchmarks.recorded import parsed, parser_of
from warpsmith.cli.render_replay import render_replay
from warpsmith.record.foreign import load_recordings
from warpsmith.replay.output import write_result
from warpsmith.replay.plan import ReplayPlan
from warpsmith.replay.pool import run_trials
from warpsmith.replay.result import collect
from warpsmith.search.registry import DEFAULT_STRATEGY

OURS = (DEFAULT_STRATEGY, "genetic", "random")


def main(arguments: list[str] | None = None) -> None:
    parser = parser_of("search", seeds=20, evaluations=200)
    parser.add_argument("--strategy", "-s", action="append")
    parser.add_argument("--output", type=Path)
    options = parsed(parser, arguments)
    recordings = {recording.name: recording for recording in load_recordings(options.spaces)}
    ours = tuple(options.strategy or OURS)
    files = {name: recording.file for name, recording in recordings.items()}
    plan = ReplayPlan(files, ours, options.seeds, options.evaluations, None)
    traces = dict(run_trials(plan, options.jobs, recordings.values()))
    peers: tuple[str, ...] = ()
    if kernel_tuner_peer.installed():
        peers = tuple(kernel_tuner_peer.PREFIX + name for name in kernel_tuner_peer.STRATEGIES)
        traces |= kernel_tuner_peer.run_peers(list(recordings.values()), options.seeds, options.evaluations, options.jobs)
    else:
        print("Kernel Tuner is not installed, so ours run alone: pip install --group bench")
    result = collect(ReplayPlan(files, (*ours, *peers), options.seeds, options.evaluations, None), recordings, traces)
    render_replay(result)
    if options.output is not None:
        write_result(result, options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
