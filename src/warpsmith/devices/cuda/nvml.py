"""State of a GPU from NVIDIA's management library: clock, power, and throttling reasons.

Read only, so no permissions are needed. If the library is missing or refuses, there are no readings.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from warpsmith.core.hardware import Reading

# No reason to doubt a time: a GPU that idles between launches, and clocks that were fixed on purpose.
_HARMLESS = frozenset({"GPU_IDLE", "APPLICATIONS_CLOCKS_SETTING", "NONE"})
_MILLI = 1e-3


def read(bus_id: str) -> Reading | None:
    """For the GPU at that PCI bus address, as the driver names it."""
    nvml = _library()
    if nvml is None:
        return None
    try:
        device = nvml.device_get_handle_by_pci_bus_id_v2(bus_id)
        return Reading(
            clock_mhz=int(nvml.device_get_clock_info(device, nvml.ClockType.SM)),
            highest_clock_mhz=int(nvml.device_get_max_clock_info(device, nvml.ClockType.SM)),
            memory_clock_mhz=int(nvml.device_get_clock_info(device, nvml.ClockType.MEM)),
            power_w=_MILLI * nvml.device_get_power_usage(device),
            slowed_by=_reasons(nvml, nvml.device_get_current_clocks_event_reasons(device)),
            temperature_c=int(nvml.device_get_temperature_v(device, nvml.TemperatureSensors.TEMPERATURE_GPU)),
        )
    except (nvml.NvmlError, RuntimeError):  # a GPU that does not tell all of this; a library that is older than the bindings
        return None


def _reasons(nvml: ModuleType, mask: int) -> tuple[str, ...]:
    names = {reason.name.partition("REASON_")[2]: int(reason) for reason in nvml.ClocksEventReasons}
    return tuple(name.lower().replace("_", " ") for name, bit in names.items() if mask & bit and name not in _HARMLESS)


@cache
def _library() -> ModuleType | None:
    try:
        from cuda.bindings import nvml  # type: ignore[import-untyped]  # noqa: PLC0415 - optional, and not in older bindings

        nvml.init_v2()
    except (ImportError, RuntimeError):  # the second is what the bindings raise when there is no library
        return None
    except Exception as error:
        if type(error).__module__ != "cuda.bindings.nvml":
            raise
        return None  # the library's own refusals
    module: ModuleType = nvml
    return module
