"""What benchmarks on recorded spaces share: their command line, and how they show figures."""

from __future__ import annotations

import argparse
import os

import numpy as np
from numpy.typing import NDArray


def parser_of(name: str, *, seeds: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("spaces", nargs="*", default=os.environ.get("WARPSMITH_SPACES", "").split())
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return parser


def parsed(parser: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace | None:
    """None, and it is said, where no spaces are named."""
    options = parser.parse_args(arguments or [])
    if options.spaces:
        return options
    print("no recorded spaces: name a folder of Kernel Tuner caches in WARPSMITH_SPACES")
    return None


def shown(values: NDArray[np.float64], sign: str = "") -> str:
    """The mean of each column, with its standard error between the rows."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return "   ".join(f"{m:{sign}.3f} ± {e:.3f}" for m, e in zip(values.mean(axis=0), errors, strict=True))
