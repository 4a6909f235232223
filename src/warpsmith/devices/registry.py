"""Devices by name, from the entry-point group `warpsmith.devices`, which other packages can extend.

`name:selector` passes the part after the colon to the device (`opencl:1`).
"""

from __future__ import annotations

import difflib
import inspect

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.core.plugins import plugins
from warpsmith.devices.base import Device

GROUP = "warpsmith.devices"
_CLOSE = 0.7  # names are short: `nope` and `opencl` share more than half of their letters


def device_names() -> list[str]:
    return sorted(plugins(GROUP))


def load_device(name: str) -> Device:
    """The device of that name. Loading does not check that it is available: `describe` does."""
    base, _, selector = name.partition(":")
    points = plugins(GROUP)
    point = points.get(base)
    if point is None:
        near = difflib.get_close_matches(base, points, n=1, cutoff=_CLOSE)
        hint = f"did you mean {near[0]!r}?" if near else f"devices: {', '.join(sorted(points)) or 'none installed'}"
        raise InputError(f"no device named {base!r}", hint=hint)
    try:
        factory = point.load()
    except ImportError as error:
        raise UnavailableError(
            f"the device {base!r} cannot be loaded: {error}", hint=f"it is provided by {point.value}"
        ) from error
    if selector and not inspect.signature(factory).parameters:
        raise InputError(f"{base!r} has nothing to select by {selector!r}", hint=f"its name is just {base}")
    device: Device = factory(selector) if selector else factory()
    return device
