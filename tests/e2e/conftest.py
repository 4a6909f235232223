"""Runs the real command line in real processes, with its record in a folder of the test's own.

Commands that only read and print, or look at a finished run, and mistakes in any of them run in this process: starting Python
takes longer than what most of them do, and the others show that a process of one's own works.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from jsonschema import Draft202012Validator
from tests.results import stored

from warpsmith.api import json_schema
from warpsmith.cli import main
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import ArgumentCheck, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.run import RunHeader
from warpsmith.record.store import Store
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.order import kernel_fingerprint

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-kernel.md"
READING = {"check", "devices", "export", "extract", "gate", "init", "report", "show", "space", "verify"}


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: what every run compiles (the roofline's probes, the guide's kernel) is compiled once."""
    return tmp_path_factory.mktemp("binaries")


@pytest.fixture
def home(tmp_path: Path, binaries: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "binaries").symlink_to(binaries)
    return folder


@pytest.fixture
def command(home: Path) -> Callable[..., list[str]]:
    return lambda *arguments: [sys.executable, "-m", "warpsmith", *map(str, arguments)]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    # Two processes say less than five, but as much about whether everything works.
    return {**os.environ, "WARPSMITH_HOME": str(home), "WARPSMITH_CLAIM_PROCESSES": "2"}


@pytest.fixture
def warpsmith(command: Callable[..., list[str]], environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: Any, expect: int = 0) -> subprocess.CompletedProcess[str]:
        whole = command(*arguments)
        if arguments[0] in READING or expect == 2:
            done = _in_this_process(whole, environment)
        else:
            done = subprocess.run(whole, env=environment, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def _in_this_process(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    arguments = command[command.index("warpsmith") :]
    with (
        contextlib.redirect_stdout(io.StringIO()) as stdout,
        contextlib.redirect_stderr(io.StringIO()) as stderr,
        mock.patch.object(sys, "argv", arguments),
        mock.patch.dict(os.environ, environment, clear=True),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return subprocess.CompletedProcess(command, int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue())


@pytest.fixture
def as_json(warpsmith: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., Any]:
    """What a command printed. The object of a run, or of a mistake, is held to the schema that is published."""

    def run(*arguments: Any, **options: Any) -> Any:
        found = json.loads(warpsmith(*arguments, "--json", **options).stdout)
        is_of_a_run = arguments[0] in {"tune", "resume", "show"} and "run" in found
        if is_of_a_run or "error" in found:
            result_schema().validate(found)
        return found

    return run


@functools.cache
def result_schema() -> Draft202012Validator:
    return Draft202012Validator(json_schema("result"))


@pytest.fixture
def guide_kernel(tmp_path: Path) -> Path:
    """The kernel of the guide, exactly as the guide shows it: what people copy must work."""
    text = GUIDE.read_text()
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "scale.cu").write_text(_block(text, "cuda"))
    (folder / "kernel.toml").write_text(_block(text, "toml"))
    return folder


@pytest.fixture
def small_guide_kernel(guide_kernel: Path) -> Path:
    """For tests that ask what becomes of a run, not how fast anything is."""
    toml = guide_kernel / "kernel.toml"
    toml.write_text(toml.read_text().replace("4000000", "40000").replace("999983", "9973"))
    return guide_kernel


@pytest.fixture
def recorded(home: Path) -> Callable[..., str]:
    """A finished run as tune would have left it, without the minutes: what is told of it afterwards is what these tests ask."""

    def record(folder: Path, *, general: dict[str, int], per_workload: dict[str, dict[str, int]] | None = None) -> str:
        kernel = load_kernel(folder)
        limits = {"max_threads_per_block": 8192, "max_block_x": 8192, "max_block_y": 8192, "max_block_z": 8192}
        limits |= {"shared_bytes_per_block": 262144, "warp_size": 32, "compute_units": 2}
        info = {"description": "a CPU", "limits": limits, "versions": {}}
        path, settings = str(kernel.path), {"evaluations": 4, "seconds": None}
        header = RunHeader(kernel.name, path, kernel_fingerprint(kernel), "cpu", "none", "gp", 0, settings, info)
        own = {w.name: _claim(2.0, general) for w in kernel.tuning_workloads}
        own |= {name: _claim(3.0, config) for name, config in (per_workload or {}).items()}
        workloads = {w.name: _claim(2.0, general) for w in kernel.tuning_workloads}
        result = {
            "baseline": _claim(1.0, dict(kernel.default_configuration)),
            "general": {**_claim(2.0, general), "workloads": workloads},
            "per_workload": own,
            "heldout": {w.name: _claim(2.0, general) for w in kernel.heldout_workloads},
            "evaluations": {"Measured": 2},
            "evidence": {},
            "template": {"certificate": {"level": "tokens", "detail": "the same tokens"}},
        }
        with Store(home / "runs.sqlite") as store:
            run = store.begin(header)
            tried = [kernel.default_configuration, *(Configuration.of(entry["config"]) for entry in own.values())]
            for config in dict.fromkeys(tried):
                times = tuple(WorkloadTime(w.name, 1e3, 0.5, (0.4, 0.6), 9) for w in kernel.tuning_workloads)
                store.append(run, Evaluation(config, Measured(PASSED, times, 0.5), 0.25, 1.7e9))
            store.finish(run, "finished", stored(run=run, kernel=kernel.name, **result))
        return run

    return record


PASSED = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))


def _claim(speedup: float, config: dict[str, Any]) -> dict[str, Any]:
    interval = [speedup - 0.1, speedup + 0.1]
    about = {"median_us": 1.0, "roofline_fraction": None, "max_error": 0.0}
    return {"config": config, "speedup": speedup, "ci95": interval, "verified": True, **about}


def _block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found.group(1)
