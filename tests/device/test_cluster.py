"""A run on a real Ray cluster of this machine: two devices of other processes search beside the run's own, and one is killed."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from twice import twice_template

from warpsmith.core.outcome import Measured
from warpsmith.record.store import Store
from warpsmith.settings import read_settings
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.cluster.machines import parse_cluster
from warpsmith.tuning.events import EvaluationAdvanced, EvaluationFinished, Warned
from warpsmith.tuning.order import Order

ray = pytest.importorskip("ray")

BODY = "  for (int j = 0; j <= FORM; ++j) if (i < n) y[i] = 2 * x[i];"


@pytest.fixture
def kernel(tmp_path: Path):
    return twice_template(tmp_path, BODY, blocks=[32 * k for k in range(1, 17)])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init("local", num_cpus=2, resources={"warpsmith": 2}, object_store_memory=128 << 20, **quiet)
    yield
    ray.shutdown()


def stations() -> list[int]:
    """Process ids of those that judge."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if entry.read_bytes().startswith(b"ray::Station"):
                found.append(int(entry.parent.name))
    return found


def measuring_of(pid: int) -> list[int]:
    """The measuring workers that the process started."""
    started = [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]
    return [child for child in started if b"measure.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_devices_of_other_processes_search_too_and_a_kill_costs_nothing(kernel, cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path / "home"))
    order = Order(kernel, budget=Budget(24), cluster=parse_cluster("ray"), comparison="nothing is claimed here")
    said: list[str] = []
    where: set[str] = set()
    killed: list[int] = []
    confined: list[str] = []

    def emit(event):
        match event:
            case Warned(message=message):
                said.append(message)
            case EvaluationAdvanced(where=place):
                where.add(place)
            case EvaluationFinished(number=10):
                one, other = stations()
                confined.extend((Path("/proc") / str(pid) / "status").read_text() for pid in measuring_of(other))
                os.kill(one, signal.SIGKILL)
                killed.append(one)

    settings = read_settings()
    result = tuning_run.start(order, settings, emit)
    with Store(settings.database) as store:
        found = store.evaluations(result.run)
    assert killed
    assert len(found) == 24, "nothing is lost, and nothing measured twice"
    assert len({e.configuration for e in found}) == 24
    assert all(isinstance(e.outcome, Measured) for e in found)
    assert any("is lost" in text for text in said), said
    assert sum("device" in place for place in where) == 2, where
    assert confined
    assert all("Seccomp:\t2" in status and "NoNewPrivs:\t1" in status for status in confined)
    assert not any(Path(f"/proc/{pid}").exists() for pid in killed)
