"""The devices' conformance suite on the CPU; what only a GPU can answer is skipped."""

from __future__ import annotations

import pytest

from warpsmith.testing import devices
from warpsmith.testing.devices import DeviceConformance


class TestCpu(DeviceConformance):
    test_the_clock_is_the_devices = None  # timings are for benchmarks: other tests run at the same time


def test_a_device_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert devices.main(["cuda:7"]) == 3
    assert "hint:" in capsys.readouterr().err
