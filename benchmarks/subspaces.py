"""Strategies on parts of recorded spaces: a third of the values of every parameter left out at random, so that optima differ.

    python -m benchmarks.subspaces FOLDER [--strategy S]… [--parts 30] [--thinned 1] [--seeds 4] [--evaluations 100] [--at-once 1]

or `python -m benchmarks subspaces` with the folder of caches in WARPSMITH_SPACES; without any, a space that PyPI has. A change of
a strategy that gains on a handful of spaces may be luck with these; on many parts of them, the standard error between parts says
how much may be. Such parts are small; what only pays in small spaces is found out with `--thinned 0.4`.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded import parsed, parser_of, shown
from warpsmith.record.foreign import Recording, load_recordings
from warpsmith.record.foreign.recording import Entry, Failure, RecordingFacts, assemble
from warpsmith.replay.plan import ReplayPlan
from warpsmith.replay.pool import run_trials
from warpsmith.replay.result import collect
from warpsmith.search.registry import DEFAULT_STRATEGY

CHECKPOINTS = (15, 25, 50, 100, 200)
FEWEST = 400  # configurations of a part
GOOD, MOST_GOOD = 0.9, 0.03  # where more than that share comes near the optimum, any strategy finds it
ATTEMPTS = 500


def main(arguments: list[str] | None = None) -> None:
    parser = parser_of_parts("subspaces", seeds=4)
    parser.add_argument("--strategy", "-s", action="append")
    parser.add_argument("--at-once", type=int, default=1, help="evaluations under way when the next is chosen, itself among them")
    options = parsed(parser, arguments)
    strategies = tuple(options.strategy or (DEFAULT_STRATEGY, "random"))
    parts = {part.name: part for part in parts_of(options)}
    files = {name: part.file for name, part in parts.items()}
    plan = ReplayPlan(files, strategies, options.seeds, options.evaluations, None, options.at_once)
    result = collect(plan, parts, dict(run_trials(plan, options.jobs, parts.values())))
    at = [n for n in CHECKPOINTS if n <= options.evaluations]
    found = {s: np.array([result.by_seed(name, s).mean(axis=0)[np.array(at) - 1] for name in parts]) for s in strategies}
    print(f"{len(parts)} parts, {options.seeds} seeds; fraction of the optimum after {', '.join(map(str, at))} evaluations")
    for strategy, by_part in found.items():
        print(f"  {strategy:24} {shown(by_part)}")
    for strategy in strategies[1:]:
        print(f"  {strategy} less {strategies[0]:10} {shown(found[strategy] - found[strategies[0]], sign='+')}")


def parser_of_parts(name: str, *, seeds: int) -> argparse.ArgumentParser:
    parser = parser_of(name, seeds=seeds)
    parser.add_argument("--parts", type=int, default=30)
    parser.add_argument(
        "--thinned", type=float, default=1.0, help="share of the parameters that lose values: parts are larger below 1"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first part: others are other parts")
    return parser


def parts_of(options: argparse.Namespace) -> Iterator[Recording]:
    numbers = range(options.first, options.first + options.parts)
    for whole in load_recordings(options.spaces):
        yield from _parts(whole, numbers, options.thinned)


def _parts(whole: Recording, numbers: range, thinned: float) -> Iterator[Recording]:
    for number in numbers:
        rng = np.random.default_rng([number, zlib.crc32(whole.name.encode())])
        for _ in range(ATTEMPTS):
            kept = _kept(whole, rng, thinned)
            fractions = whole.scores[kept].min() / whole.scores[kept] if kept.sum() >= FEWEST else np.ones(1)
            if np.isfinite(fractions).all() and np.mean(fractions > GOOD) <= MOST_GOOD:
                yield _part(whole, kept, f"{whole.name}, part {number}")
                break


def _kept(whole: Recording, rng: np.random.Generator, thinned: float) -> NDArray[np.bool_]:
    rows = np.asarray(whole.space.rows)
    kept = np.ones(len(rows), dtype=bool)
    for column, parameter in enumerate(whole.space.parameters):
        values = len(parameter.values)
        if values > 2 and (thinned >= 1 or rng.random() < thinned):
            kept &= ~np.isin(rows[:, column], rng.choice(values, size=max(1, values // 3), replace=False))
    return kept


def _part(whole: Recording, kept: NDArray[np.bool_], name: str) -> Recording:
    rows = np.asarray(whole.space.rows)[kept]
    there = [np.unique(rows[:, column]) for column in range(rows.shape[1])]
    values = {p.name: [p.values[at] for at in left] for p, left in zip(whole.space.parameters, there, strict=True)}
    numbers = np.flatnonzero(kept).tolist()
    entries = [Entry(_result(whole, number), float(whole.seconds[number])) for number in numbers]
    facts = RecordingFacts(name, whole.file.with_name(name), whole.kernel, whole.device, whole.objective, values)
    places = np.column_stack([np.searchsorted(left, rows[:, column]) for column, left in enumerate(there)])
    return assemble(facts, places.astype(np.int32), entries)


def _result(whole: Recording, number: int) -> float | Failure:
    outcome, score = whole.outcomes[number], float(whole.scores[number])
    if isinstance(outcome, Failure):
        return outcome
    return whole.reference / score if whole.objective.higher_is_better else whole.reference * score


if __name__ == "__main__":
    main(sys.argv[1:])
