"""State of a GPU from AMD's management library: clock, power, temperature, and throttling reasons.

Read only, so no permissions are needed. If the library is missing or refuses, there are no readings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from warpsmith.core.hardware import Reading

# By generation: one has current power, another an average; missing values are reported as "N/A".
_POWERS = ("socket_power", "current_socket_power", "average_socket_power")
_ACTIVE = "active_"


def bus_id(properties: Any) -> str:
    """The address in the library's format, from the runtime's."""
    return f"{properties.pciDomainID:04x}:{properties.pciBusID:02x}:{properties.pciDeviceID:02x}.0"


def read(bus: str) -> Reading | None:
    """For the GPU at that PCI bus address."""
    smi = _library()
    if smi is None:
        return None
    try:
        device = smi.amdsmi_get_processor_handle_from_bdf(bus)
        core = smi.amdsmi_get_clock_info(device, smi.AmdSmiClkType.GFX)
        memory = smi.amdsmi_get_clock_info(device, smi.AmdSmiClkType.MEM)
        powers = smi.amdsmi_get_power_info(device)
        temperature = smi.amdsmi_get_temp_metric(device, smi.AmdSmiTemperatureType.HOTSPOT, smi.AmdSmiTemperatureMetric.CURRENT)
        clocks = [_number(core["clk"]), _number(core["max_clk"]), _number(memory["clk"])]
        power = next((found for name in _POWERS if (found := _number(powers.get(name)))), None)
        if None in clocks or power is None:
            return None
        now, highest, memory_clock = (int(clock or 0) for clock in clocks)
        return Reading(now, highest, memory_clock, float(power), _slowed_by(smi, device), _number(temperature))
    except smi.AmdSmiException:  # a GPU that does not tell all of this
        return None


def _slowed_by(smi: ModuleType, device: Any) -> tuple[str, ...]:
    """By name if the GPU counts violations (MI300 and later), else only whether."""
    try:
        status: Mapping[str, Any] = smi.amdsmi_get_violation_status(device)
    except smi.AmdSmiException:
        return ("throttled",) if smi.amdsmi_get_gpu_metrics_info(device).get("throttle_status") is True else ()
    named = (name.removeprefix(_ACTIVE) for name, value in status.items() if name.startswith(_ACTIVE) and value is True)
    return tuple(name.replace("_", " ") for name in named if "low_utilization" not in name)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@cache
def _library() -> ModuleType | None:
    # Its default lock is a file shared by all processes, where a confined worker may not write.
    os.environ.setdefault("RSMI_MUTEX_THREAD_ONLY", "1")
    try:
        import amdsmi  # type: ignore[import-not-found]  # noqa: PLC0415 - optional

        amdsmi.amdsmi_init()
    except (
        ImportError,
        OSError,
        KeyError,
        AttributeError,
    ):  # the last two: there is no libamd_smi; it lacks what the package wants
        return None
    except Exception as error:
        if type(error).__module__ != "amdsmi.amdsmi_exception":
            raise
        return None  # the library's own refusals
    module: ModuleType = amdsmi
    return module
