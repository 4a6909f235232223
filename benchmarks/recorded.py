"""What benchmarks on recorded spaces share: their command line, a space that anyone can download, and how they show figures."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.downloads import unpacked
from warpsmith.record.foreign import Recording

# An exhaustively measured convolution on an RTX 2080 Ti, among the test data of a package on PyPI. Nothing of the strategies was
# settled on it.
PUBLISHED = "autotuning-methodology==1.1.0"
PUBLISHED_FILE = "mockfiles/mock_gpu.json"


def parser_of(name: str, *, seeds: int, evaluations: int = 100) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("spaces", nargs="*", default=os.environ.get("WARPSMITH_SPACES", "").split())
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--evaluations", type=int, default=evaluations)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return parser


def parsed(parser: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """Where no spaces are named the published one is taken, and it is said."""
    options = parser.parse_args(arguments or [])
    if not options.spaces:
        options.spaces = [str(published())]
        print(f"no recorded spaces named (here, or in WARPSMITH_SPACES): the one in {PUBLISHED} is searched")
    return options


def published() -> Path:
    return next(unpacked(PUBLISHED, source=True).rglob(PUBLISHED_FILE))


def curve_of(recording: Recording, numbers: Sequence[int], evaluations: int) -> NDArray[np.float64]:
    """The best so far as a fraction of the optimum after each evaluation. A search that ended early stays where it was."""
    best = np.minimum.accumulate(recording.scores[list(numbers)])
    return recording.best_score / np.append(best, np.full(evaluations - len(best), best[-1]))


def shown(values: NDArray[np.float64], sign: str = "") -> str:
    """The mean of each column, with its standard error between the rows."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return "   ".join(f"{m:{sign}.3f} ± {e:.3f}" for m, e in zip(values.mean(axis=0), errors, strict=True))
