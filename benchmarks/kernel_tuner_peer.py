"""Kernel Tuner's strategies on a recording, through its own simulation mode. Owns what a fair comparison needs.

Kernel Tuner gets exactly the space that ours get: every recorded configuration, failures included, and nothing else. (Its own
`tune_cache` would take the failing ones out beforehand.) Of its evaluations the distinct ones count, in their order.
"""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.core.outcome import CompileFailed, Measured
from warpsmith.record.foreign import Recording
from warpsmith.replay.plan import ReplayTrial
from warpsmith.replay.trial import Trace

STRATEGIES = ("random_sample", "genetic_algorithm", "pso", "hybrid_vndx", "adaptive_tabu_greywolf")
PREFIX = "kernel-tuner:"


def installed() -> bool:
    return importlib.util.find_spec("kernel_tuner") is not None


def run_peers(recordings: Sequence[Recording], seeds: int, evaluations: int, jobs: int) -> Iterator[tuple[ReplayTrial, Trace]]:
    """Every strategy of `STRATEGIES` on every recording with every seed, as they finish."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = {recording.name: _numbers(recording) for recording in recordings}
        caches = {
            recording.name: _write(recording, numbers[recording.name], Path(folder) / f"{at}.json")
            for at, recording in enumerate(recordings)
        }
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            futures = {
                pool.submit(_tune, caches[name], strategy, seed, evaluations): (name, strategy, seed)
                for name in caches
                for strategy in STRATEGIES
                for seed in range(seeds)
            }
            for future in as_completed(futures):
                name, strategy, seed = futures[future]
                keys, seconds = future.result()
                yield ReplayTrial(name, PREFIX + strategy, seed), Trace(tuple(numbers[name][key] for key in keys), seconds)


def _write(recording: Recording, numbers: Mapping[str, int], path: Path) -> Path:
    """The recording as a Kernel Tuner cache whose objective is a time, whatever the file's own objective is."""
    names = [parameter.name for parameter in recording.space.parameters]
    entries = {}
    for key, number in numbers.items():
        outcome = recording.outcomes[number]
        failure = "CompilationFailedConfig" if isinstance(outcome, CompileFailed) else "RuntimeFailedConfig"
        result = outcome.score if isinstance(outcome, Measured) else failure
        costs = {"compile_time": recording.seconds[number] * 1e3, "verification_time": 0.0, "benchmark_time": 0.0}
        entries[key] = {**dict(recording.space[number].pairs), "time": result, **costs}
    header = {"device_name": recording.device, "kernel_name": recording.kernel, "problem_size": [1], "tune_params_keys": names}
    values = {parameter.name: list(parameter.values) for parameter in recording.space.parameters}
    path.write_text(json.dumps({**header, "tune_params": values, "objective": "time", "cache": entries}))
    return path


def _numbers(recording: Recording) -> dict[str, int]:
    """The number of each configuration by Kernel Tuner's key for it."""
    return {",".join(map(str, configuration.values())): number for number, configuration in enumerate(recording.space)}


# ── in the worker ──


@cache
def _cache(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def _tune(path: Path, strategy: str, seed: int, evaluations: int) -> tuple[list[str], float]:
    """The keys of the distinct configurations that Kernel Tuner evaluated, in order, and the seconds it took.

    Its time includes reading the cache and constructing the space, which its interface does not separate from the strategy's.
    """
    from constraint import FunctionConstraint  # noqa: PLC0415 - a peer's dependency
    from kernel_tuner import tune_kernel  # noqa: PLC0415

    recorded = _cache(path)
    members = {tuple(entry[name] for name in recorded["tune_params_keys"]) for entry in recorded["cache"].values()}
    # Its strategies draw from the global generators.
    warnings.simplefilter("ignore")  # that no parameter is called block_size_x, among others
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    began = time.perf_counter()
    results, _ = tune_kernel(
        kernel_name=recorded["kernel_name"],
        kernel_source="",
        problem_size=(1,),
        arguments=[],
        tune_params=recorded["tune_params"],
        restrictions=[FunctionConstraint(lambda *values: values in members)],
        cache=str(path),
        simulation_mode=True,
        strategy=strategy,
        strategy_options={"max_fevals": evaluations},
        lang="CUDA",
        quiet=True,
        seed=seed,
    )
    seconds = time.perf_counter() - began
    keys = (",".join(str(result[name]) for name in recorded["tune_params_keys"]) for result in results)
    return [key for key in dict.fromkeys(keys) if key in recorded["cache"]][:evaluations], seconds
