"""Counters through CUPTI: a stand-in for `cupti.pm_sampling` that takes its calls, refuses as it does, and has fixed samples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from warpsmith.core.hardware import Counters, NotCounted
from warpsmith.devices.cuda import counters


class CuptiError(Exception):
    """As `cupti.cupti.cuptiError`."""


class Collector:
    """Idle, half a sample, two whole ones. Knows neither `sm__throughput` nor sampling by time."""

    refuses: Exception | None = None

    def __init__(self, device_index: int = 0) -> None:
        assert device_index == 1
        self.metrics: list[str] = []

    def enable(self) -> None:
        if self.refuses is not None:
            raise self.refuses

    def configure(self, *, metrics: list[str], hardware_buffer_size: int, sampling_interval: int, trigger_mode: str) -> None:
        if trigger_mode == "time" or any(metric.startswith("sm__throughput") for metric in metrics):
            raise ValueError("Requested PM sampling configuration is not supported.")
        self.metrics = metrics

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def decode(self) -> list[Any]:
        others = len(self.metrics) - 1
        rows = [(0.0, 0.0), (30.0, 10.0), (90.0, 60.0), (88.0, 62.0)]
        return [SimpleNamespace(metric_values=[activity, *[value] * others]) for activity, value in rows]

    def disable(self) -> None: ...


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = SimpleNamespace(GPU_TIME_INTERVAL="time", GPU_SYSCLK_INTERVAL="cycles")
    sampling = SimpleNamespace(Collector=Collector, TriggerMode=modes)
    monkeypatch.setattr(counters, "_library", lambda: (SimpleNamespace(cuptiError=CuptiError), sampling))
    monkeypatch.setattr(Collector, "refuses", None)


def run() -> tuple[counters.Run, list[str]]:
    log: list[str] = []
    return counters.Run(lambda: log.append("prepare"), lambda: log.append("launch"), 50_000), log


def test_samples_that_are_the_kernels_are_averaged() -> None:
    given, log = run()
    assert counters.count(1, given) == Counters(61.0, 61.0, 61.0, 61.0, samples=2)
    assert log == ["prepare", "launch"] * 4


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (PermissionError("Insufficient privileges"), "ERR_NVGPUCTRPERM"),
        (RuntimeError("CUPTI could not load the nvperf* libraries"), "CUPTI does not start: CUPTI could not load"),
        (CuptiError("ERROR_MIG_DEVICE_NOT_SUPPORTED"), "CUPTI does not start: ERROR_MIG"),
    ],
)
def test_what_is_not_permitted_is_said(refusal: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Collector, "refuses", refusal)
    found = counters.count(1, run()[0])
    assert isinstance(found, NotCounted)
    assert said in found.reason
