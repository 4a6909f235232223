"""Counters of a run: what there is none of is said once, and nothing else changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Resources
from warpsmith.devices.base import Binary
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.tuning.evaluation.profile import Profiler
from warpsmith.tuning.events import Warned


def test_a_gpu_that_has_no_room_for_a_second_process_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise UnavailableError("the GPU does not open: out of memory")

    monkeypatch.setattr(Bench, "counters", full)
    said: list[Any] = []
    workload = SimpleNamespace(name="w", arena=SimpleNamespace(nbytes=0))
    profiler = Profiler("cuda:sm_90", [workload], said.append)  # type: ignore[list-item]
    for name in ("a", "b"):
        candidate = Candidate(name, {"w": Binary(name.encode(), "k", Resources())}, {}, {})
        assert profiler.of(candidate) == {}
    assert said == [Warned("no counters: the GPU does not open: out of memory")]
