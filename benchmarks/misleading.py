"""What a misleading record costs: the default strategy with 200 results of the very space whose times were reversed or shuffled.

    python -m benchmarks.misleading FOLDER [--seeds 20] [--evaluations 100]

or `python -m benchmarks misleading` with the folder of caches in WARPSMITH_SPACES; without any, a space that PyPI has.
Differences from a cold start with the same seeds, in the fraction of the optimum, with one standard error. `searched, reversed`
is a record that the strategy made itself.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded import curve_of, parsed, parser_of, shown
from warpsmith.core.outcome import Evaluation
from warpsmith.record.foreign import Recording, load_recordings
from warpsmith.replay.trial import run_trial
from warpsmith.search.base import Prior
from warpsmith.search.registry import DEFAULT_STRATEGY

RECORD = 200
CHECKPOINTS = (10, 25, 50, 100, 200)
KINDS = ("cold", "true", "reversed", "shuffled", "searched, reversed")


def main(arguments: list[str] | None = None) -> None:
    options = parsed(parser_of("misleading", seeds=20), arguments)
    files = [str(recording.file) for recording in load_recordings(options.spaces)]
    at = [n for n in CHECKPOINTS if n <= options.evaluations]
    jobs = [(file, kind, seed, options.evaluations) for file in files for kind in KINDS for seed in range(options.seeds)]
    with ProcessPoolExecutor(options.jobs) as pool:
        curves = dict(zip(jobs, pool.map(_curve, *zip(*jobs, strict=True)), strict=True))
    print(f"fraction of the optimum after {', '.join(map(str, at))} evaluations, {options.seeds} seeds")
    whole: dict[str, list[NDArray[np.float64]]] = {kind: [] for kind in KINDS}
    for file in files:
        cold = _at(curves, file, "cold", options, at)
        print(f"{_recording(file).name}\n  {'cold':20} {'   '.join(f'{mean:.3f}        ' for mean in cold.mean(axis=0))}")
        for kind in KINDS[1:]:
            difference = _at(curves, file, kind, options, at) - cold
            whole[kind].append(difference)
            print(f"  {kind:20} {shown(difference, sign='+')}", flush=True)
    print("all together")
    for kind in KINDS[1:]:
        print(f"  {kind:20} {shown(np.mean(whole[kind], axis=0), sign='+')}")


def _curve(file: str, kind: str, seed: int, evaluations: int) -> NDArray[np.float64]:
    recording, rng = _recording(file), np.random.default_rng([seed, 1])
    prior = None if kind == "cold" else _record(recording, kind, rng)
    numbers = run_trial(recording, DEFAULT_STRATEGY, np.random.default_rng(seed), evaluations=evaluations, prior=prior).numbers
    return curve_of(recording, numbers, evaluations)


def _record(recording: Recording, kind: str, rng: np.random.Generator) -> Prior:
    if kind.startswith("searched"):
        numbers = run_trial(recording, DEFAULT_STRATEGY, rng, evaluations=RECORD).numbers
    else:
        numbers = tuple(rng.choice(len(recording.scores), min(RECORD, len(recording.scores)), replace=False).tolist())
    found = [recording.evaluation(number) for number in numbers]
    measured = sorted((e for e in found if e.score is not None), key=lambda e: e.score or 0.0)
    others = measured
    if kind.endswith("reversed"):
        others = measured[::-1]
    elif kind == "shuffled":
        others = [measured[place] for place in rng.permutation(len(measured))]
    told = [Evaluation(e.configuration, other.outcome) for e, other in zip(measured, others, strict=True)]
    return Prior(kind, (*told, *(e for e in found if e.score is None)))


@cache
def _recording(file: str) -> Recording:
    [found] = load_recordings([file])
    return found


def _at(
    curves: dict[tuple[str, str, int, int], NDArray[np.float64]], file: str, kind: str, options: argparse.Namespace, at: list[int]
) -> NDArray[np.float64]:
    """A row for each seed."""
    rows = [curves[file, kind, seed, options.evaluations] for seed in range(options.seeds)]
    return np.array(rows)[:, np.array(at) - 1]


if __name__ == "__main__":
    main(sys.argv[1:])
