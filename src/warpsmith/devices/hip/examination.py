"""Inspects AMD hardware and software on this machine without the runtime: the required files, and access to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from warpsmith.devices.base import Finding, State

_VENDOR = "0x1002"
_KINDS = ("0x03", "0x12")  # of devices on the PCI bus: display, and accelerators such as the MI series


def examine(root: Path = Path("/")) -> list[Finding]:
    found = [device for device in (root / "sys/bus/pci/devices").glob("*") if _is_gpu(device)]
    if not found and not (root / "dev/kfd").exists():
        return [Finding("GPU", State.ABSENT, "no AMD GPU on this machine")]
    return [Finding("GPU", State.OK, f"{len(found)} of AMD's on the PCI bus"), *_nodes(root)]


def _is_gpu(device: Path) -> bool:
    try:
        kind = (device / "class").read_text().strip()
        return (device / "vendor").read_text().strip() == _VENDOR and kind.startswith(_KINDS)
    except OSError:
        return False


def _nodes(root: Path) -> Iterator[Finding]:
    if not (root / "dev/kfd").exists():
        remedy = "load the module amdgpu (install ROCm's driver); in a container: --device /dev/kfd --device /dev/dri"
        yield Finding("kernel module", State.FAILED, "/dev/kfd is missing", remedy)
        return
    nodes = [root / "dev/kfd", *sorted((root / "dev/dri").glob("renderD*"))]
    shut = [node.name for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if shut:
        remedy = "sudo usermod -aG render,video $USER, and log in again"
        yield Finding("permissions", State.FAILED, f"no read and write access to {', '.join(shut)}", remedy)
    else:
        yield Finding("permissions", State.OK, f"{', '.join(node.name for node in nodes)} can be used")
