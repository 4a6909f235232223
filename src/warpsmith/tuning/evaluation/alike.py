"""Several devices for one run: parsing their names, and checking that their ratios are comparable."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.compile.pool import describe_device
from warpsmith.core.errors import InputError
from warpsmith.devices.base import DeviceInfo


def parse_devices(text: str) -> tuple[str, tuple[str, ...]]:
    """`cuda:0,cuda:1`: the device of the run, and those that search beside it."""
    first, *others = (name.strip() for name in text.split(","))
    seen = {_told_apart(first)}
    for name in others:
        if not name:
            raise InputError(f"an empty device name in {text!r}", hint="list several as cuda:0,cuda:1")
        if _told_apart(name) in seen:
            hint = "concurrent measurements on one device disturb each other; name each once"
            raise InputError(f"the device {name!r} is named twice in {text!r}", hint=hint)
        seen.add(_told_apart(name))
    return first, tuple(others)


def _told_apart(name: str) -> tuple[str, str]:
    """`cuda` is the first of them: the same as `cuda:0`."""
    base, _, selector = name.partition(":")
    return base, selector or "0"


def require_alike(first: str, info: DeviceInfo, others: Sequence[str]) -> None:
    """Raises InputError where one of the others is another kind of device: its ratios would say nothing of this one."""
    for name in others:
        other = describe_device(name)
        if kind_of(other) != kind_of(info):
            raise InputError(
                f"{name!r} is not the same kind of device as {first!r}: {other.description}, not {info.description}",
                hint="only identical devices can share a search; tune for each kind separately, the second with --warm",
            )


def kind_of(info: DeviceInfo) -> tuple[object, ...]:
    """Equal for devices whose ratios hold for each other."""
    return info.description, info.architecture, info.limits
