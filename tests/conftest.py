"""Laws are not timed, winners not watched, runs not reported; and small recordings that tests make, in Kernel Tuner's format."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Started in the background of a shell, programs ignore Ctrl-C, and so do all that they start: the tests of Ctrl-C as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow example says that the machine is busy, not that a law does not hold.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# What is set for the runs of whoever starts the tests is not for theirs.
for _name in [name for name in os.environ if name.startswith("WARPSMITH_")]:
    del os.environ[_name]

# Watching every winner would take minutes in all; tests that are about it say so.
os.environ["WARPSMITH_RACECHECK"] = "off"
# Nor does anybody look at most runs' reports.
os.environ["WARPSMITH_REPORT"] = "off"


def pytest_collection_finish() -> None:
    """Thousands of tests and all that was imported for them stay to the end: looking through them for garbage finds none."""
    gc.collect()
    gc.freeze()


WriteCache = Callable[..., Path]
PARAMETERS: Mapping[str, Sequence[Any]] = {"block": [32, 64, 128, 256], "tile": [1, 2, 3], "padding": [0, 1]}


def smooth_ms(block: int, tile: int, padding: int) -> float:
    """A landscape with one optimum: 1 ms at block=128 tile=2 padding=1."""
    return 1.0 + abs(block - 128) / 64 + 2 * abs(tile - 2) + (1 - padding) / 4


@pytest.fixture
def write_cache(tmp_path: Path) -> WriteCache:
    """`write_cache(name, result=…)`: `result(**values)` gives the time, a failure's mark, or the entry's fields to add."""

    def write(
        name: str = "small.json",
        *,
        result: Callable[..., Any] = smooth_ms,
        parameters: Mapping[str, Sequence[Any]] = PARAMETERS,
        header: Mapping[str, Any] | None = None,
        ending: str = "}\n}",
    ) -> Path:
        lines = []
        for combination in itertools.product(*parameters.values()):
            values = dict(zip(parameters, combination, strict=True))
            found = result(**values)
            fields = found if isinstance(found, dict) else {"time": found}
            costs = {"compile_time": 1000.0, "verification_time": 200.0, "benchmark_time": 300.0}
            entry = {**values, **costs, **fields}
            lines.append(f"{json.dumps(','.join(map(str, combination)))}: {json.dumps(entry)}")
        top = {
            "device_name": "Some GPU",
            "kernel_name": "some_kernel",
            "tune_params_keys": list(parameters),
            "tune_params": dict(parameters),
            **(header or {}),
            "cache": {},
        }
        text = json.dumps(top)[:-2] + "\n" + ",\n".join(lines) + ending
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write
