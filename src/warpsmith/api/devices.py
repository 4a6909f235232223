"""The devices of this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from warpsmith.compile.pool import describe_device
from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import DeviceInfo
from warpsmith.devices.registry import device_names


def list_devices() -> dict[str, DeviceInfo | UnavailableError]:
    """Every known device: what it is, or why it is not there."""
    names = device_names()
    # Each is asked in a process of its own, which takes most of its time to start.
    with ThreadPoolExecutor(max_workers=len(names)) as together:
        return dict(zip(names, together.map(_described, names), strict=True))


def _described(name: str) -> DeviceInfo | UnavailableError:
    try:
        return describe_device(name)
    except UnavailableError as error:
        return error
