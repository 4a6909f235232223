"""The examination: the system, then every device: what its machine has, whether it can be described, and one verified launch."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import AbsentError, WarpsmithError
from warpsmith.devices.base import CanBeExamined, DeviceInfo, Finding, State
from warpsmith.devices.registry import device_names, load_device
from warpsmith.doctor.launch import VerifiedLaunch, launch
from warpsmith.isolation.confinement import confinement_report

_UNEXPLAINED = (
    "try WARPSMITH_CONFINEMENT=off: if that works, the confinement of workers is the cause; please report either result"
)
_OFF = "WARPSMITH_CONFINEMENT=off is for debugging only; unset it"


def examine(devices: Sequence[str] = ()) -> dict[str, Any]:
    """The object of `warpsmith doctor --json`: nothing of it names this machine, its users or their files.

    `works` is whether a launch was verified on each of the devices that were asked for, or on any if none was.
    """
    named = [*devices] or device_names()
    entries = [_device(name) for name in named]
    worked = [entry["launch"] is not None for entry in entries]
    return {
        "version": metadata.version("warpsmith"),
        "works": all(worked) if devices else any(worked),
        "system": _system(),
        "findings": [_entry(_confinement())],
        "devices": entries,
    }


def _system() -> dict[str, Any]:
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return {
        "linux": platform.release(),
        "distribution": release.get("PRETTY_NAME"),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "container": Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
        "root": os.geteuid() == 0,
    }


def _confinement() -> Finding:
    report = confinement_report()
    if report.is_complete:
        return Finding("confinement", State.OK, "workers are confined")
    if report.missing:
        remedy = "Linux 6.2 or later with Landlock; in a container, a seccomp profile that lets it through"
        return Finding("confinement", State.LACKING, f"incomplete, missing: {' and '.join(report.missing)}", remedy)
    return Finding("confinement", State.LACKING, "switched off", _OFF)


def _device(name: str) -> dict[str, Any]:
    """A failure of one device leaves the others to be examined."""
    found: list[Finding] = []
    info: DeviceInfo | None = None
    launched: VerifiedLaunch | None = None
    try:
        device = load_device(name)
        if isinstance(device, CanBeExamined):
            found += device.examine()
        with CompilePool(name, cache_dir=None) as pool:
            info = pool.describe()
            found = [*map(_seen_by_the_driver, found), Finding("description", State.OK, info.description)]
            answer = launch(name, pool, info)
    except WarpsmithError as error:
        absent = isinstance(error, AbsentError) and any(finding.state is State.ABSENT for finding in found)
        what = "verified launch" if info is not None else "driver"
        found.append(Finding(what, State.ABSENT if absent else State.FAILED, error.message, error.hint or _UNEXPLAINED))
    else:
        if isinstance(answer, Finding):
            found.append(answer)
        else:
            launched = answer
            found += _of_launch(launched, is_gpu=info.architecture is not None)
    return {
        "device": name,
        "description": info.description if info is not None else None,
        "versions": dict(info.versions) if info is not None else {},
        "limits": asdict(info.limits) if info is not None else None,
        "findings": [_entry(finding) for finding in found],
        "launch": launched.as_dict() if launched is not None else None,
    }


def _seen_by_the_driver(finding: Finding) -> Finding:
    """What the system's files do not show may be there all the same, in a container or a virtual machine."""
    if finding.what == "GPU" and finding.state is State.ABSENT:
        return Finding("GPU", State.OK, "the driver lists a GPU that is not on the PCI bus")
    return finding


def _of_launch(launched: VerifiedLaunch, *, is_gpu: bool) -> list[Finding]:
    said = f"{launched.kernel} on {launched.workload!r}: {launched.median_us:.1f} µs, largest error {launched.max_error:.2g}"
    found = [Finding("verified launch", State.OK, said)]
    reading = launched.reading
    if reading is not None and reading.slowed_by:
        slowed = f"{reading.clock_mhz} of {reading.highest_clock_mhz} MHz, slowed by {', '.join(reading.slowed_by)}"
        found.insert(0, Finding("clocks", State.LACKING, slowed, "cooling, the power limit (nvidia-smi -pl), or another program"))
    elif reading is not None:
        found.insert(0, Finding("clocks", State.OK, f"{reading.clock_mhz} of {reading.highest_clock_mhz} MHz, not slowed"))
    elif is_gpu:
        remedy = "with NVIDIA's driver comes libnvidia-ml; on AMD, pip install amdsmi"
        found.insert(0, Finding("clocks", State.LACKING, "no management library is available", remedy))
    return found


def _entry(finding: Finding) -> dict[str, Any]:
    return asdict(finding)
