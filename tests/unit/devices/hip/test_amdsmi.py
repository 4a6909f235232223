"""AMD's readings: a stand-in for `amdsmi` with the shapes that it returns, "N/A" included."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from warpsmith.core.hardware import Reading
from warpsmith.devices.hip import amdsmi


class RefusedError(Exception):
    """As `amdsmi.AmdSmiException`."""


def library(*, violations: bool = True, clock: Any = 2100) -> SimpleNamespace:
    def violation_status(_device: object) -> dict[str, Any]:
        if not violations:
            raise RefusedError
        return {"active_ppt_pwr": True, "active_socket_thrm": False, "active_vr_thrm": "N/A", "active_low_utilization": [True]}

    clocks = {"gfx": {"clk": clock, "max_clk": 2400}, "mem": {"clk": 1300, "max_clk": 1300}}
    return SimpleNamespace(
        AmdSmiException=RefusedError,
        AmdSmiClkType=SimpleNamespace(GFX="gfx", MEM="mem"),
        AmdSmiTemperatureType=SimpleNamespace(HOTSPOT="hotspot"),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT="current"),
        amdsmi_get_processor_handle_from_bdf=lambda bus: bus,
        amdsmi_get_clock_info=lambda _device, kind: clocks[kind],
        amdsmi_get_power_info=lambda _device: {"current_socket_power": "N/A", "average_socket_power": 320},
        amdsmi_get_temp_metric=lambda _device, _sensor, _metric: 71,
        amdsmi_get_violation_status=violation_status,
        amdsmi_get_gpu_metrics_info=lambda _device: {"throttle_status": True},
    )


@pytest.mark.parametrize(
    ("found", "reading"),
    [
        (library(), Reading(2100, 2400, 1300, 320.0, ("ppt pwr",), 71)),
        (library(violations=False), Reading(2100, 2400, 1300, 320.0, ("throttled",), 71)),
        (library(clock="N/A"), None),
        (None, None),
    ],
)
def test_readings(found: Any, reading: Reading | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amdsmi, "_library", lambda: found)
    assert amdsmi.read("0000:c1:00.0") == reading


def test_a_library_that_is_older_than_its_package_gives_no_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        raise AttributeError("libamd_smi.so: undefined symbol: amdsmi_get_violation_status")

    monkeypatch.setitem(sys.modules, "amdsmi", SimpleNamespace(amdsmi_init=init))
    assert amdsmi._library.__wrapped__() is None


def test_the_bus_is_named_as_the_library_wants_it() -> None:
    assert amdsmi.bus_id(SimpleNamespace(pciDomainID=1, pciBusID=0xC1, pciDeviceID=0)) == "0001:c1:00.0"


def test_the_library_locks_for_its_own_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its other lock is a file in /dev/shm, which a confined worker may not make."""
    monkeypatch.setenv("RSMI_MUTEX_THREAD_ONLY", "0")  # put back afterwards
    monkeypatch.delenv("RSMI_MUTEX_THREAD_ONLY")
    asked: list[str | None] = []
    stand_in = SimpleNamespace(amdsmi_init=lambda: asked.append(os.environ.get("RSMI_MUTEX_THREAD_ONLY")))
    monkeypatch.setitem(sys.modules, "amdsmi", stand_in)  # type: ignore[arg-type]
    assert amdsmi._library.__wrapped__() is stand_in
    assert asked == ["1"]
