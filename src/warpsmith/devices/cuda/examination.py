"""Inspects NVIDIA hardware and software on this machine without the driver library: system files, and `nvidia-smi` if present."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import Finding, State
from warpsmith.devices.cuda.counters import WHEEL as COUNTERS_WHEEL
from warpsmith.devices.cuda.nodes import HINT, is_uvm_missing
from warpsmith.devices.cuda.sanitizer import WHEEL as SANITIZER_WHEEL
from warpsmith.devices.cuda.sanitizer import compute_sanitizer

_VENDOR = "0x10de"
_DISPLAY = "0x03"  # the class of devices on the PCI bus that GPUs are of
_NODES = ("nvidiactl", "nvidia[0-9]*", "nvidia-uvm")
_DEADLINE_S = 20.0
_QUERY = ("persistence_mode", "compute_mode", "mig.mode.current")
_SHARED = "as root: nvidia-smi -c DEFAULT"
_XID = "dmesg may have errors of the GPU (Xid)"
_ADMIN_ONLY = re.compile(r"RmProfilingAdminOnly:\s*1")


def examine(root: Path = Path("/")) -> list[Finding]:
    hardware = _hardware(root)
    if hardware.state is State.ABSENT:
        return [hardware]
    return [hardware, _module(root), *_nodes(root), _counters(root), _sanitizer(), _mps(root), *_settings()]


def _hardware(root: Path) -> Finding:
    if (root / "dev/dxg").exists():
        return Finding("GPU", State.OK, "through Windows (WSL)")
    found = [device for device in (root / "sys/bus/pci/devices").glob("*") if _is_gpu(device)]
    if found:
        return Finding("GPU", State.OK, f"{len(found)} of NVIDIA's on the PCI bus")
    if (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvmap").exists():
        return Finding("GPU", State.OK, "not on the PCI bus")
    return Finding("GPU", State.ABSENT, "no NVIDIA GPU on this machine")


def _is_gpu(device: Path) -> bool:
    return _text(device / "vendor") == _VENDOR and _text(device / "class").startswith(_DISPLAY)


def _module(root: Path) -> Finding:
    version = re.search(r"(\d+\.\d+(?:\.\d+)?)", _text(root / "proc/driver/nvidia/version"))
    if version:
        return Finding("kernel module", State.OK, f"release {version[1]}")
    if (root / "dev/dxg").exists():
        return Finding("kernel module", State.OK, "that of Windows")
    if (root / "dev/nvmap").exists():
        return Finding("kernel module", State.OK, "that of Jetson")
    remedy = "install NVIDIA's driver, 580 or later for CUDA 13, and start the machine again; in a container: --gpus all"
    return Finding("kernel module", State.FAILED, "nvidia is not loaded", remedy)


def _nodes(root: Path) -> Iterator[Finding]:
    nodes = [node for pattern in _NODES for node in sorted((root / "dev").glob(pattern))]
    shut = [node.name for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if shut:
        remedy = "add yourself to the group that owns them in /dev, or pass them to the container (--gpus all)"
        yield Finding("permissions", State.FAILED, f"no read and write access to {', '.join(shut)}", remedy)
    elif nodes:
        yield Finding("permissions", State.OK, f"{', '.join(node.name for node in nodes)} can be used")
    if is_uvm_missing(root):
        yield Finding("uvm", State.FAILED, "/dev/nvidia-uvm is missing", HINT)


def _counters(root: Path) -> Finding:
    if _ADMIN_ONLY.search(_text(root / "proc/driver/nvidia/params")):
        remedy = (
            "as root: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 > /etc/modprobe.d/nvidia-counters.conf,"
            " update-initramfs -u, restart"
        )
        return Finding("counters", State.LACKING, "the driver restricts them to administrators", remedy)
    if importlib.util.find_spec("cupti") is None:
        return Finding("counters", State.LACKING, "CUPTI's bindings are not installed", f"pip install {COUNTERS_WHEEL}")
    return Finding("counters", State.OK, "permitted, and CUPTI is installed")


def _sanitizer() -> Finding:
    try:
        compute_sanitizer()
    except UnavailableError as error:
        return Finding("sanitizer", State.LACKING, error.message, f"pip install {SANITIZER_WHEEL}")
    return Finding("sanitizer", State.OK, "compute-sanitizer is installed")


def _mps(root: Path) -> Finding:
    place = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # noqa: S108 - the driver's own default
    if (root / place.lstrip("/") / "control").exists():
        remedy = "to stop it: echo quit | nvidia-cuda-mps-control"
        return Finding("MPS", State.LACKING, "a server runs; confined workers use the GPU directly, not through it", remedy)
    return Finding("MPS", State.OK, "no server")


def _settings() -> Iterator[Finding]:
    """Settings of the first GPU, from `nvidia-smi`."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return
    command = (program, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader", "--id=0")
    try:
        done = subprocess.run(command, check=False, timeout=_DEADLINE_S, capture_output=True, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("nvidia-smi", State.LACKING, f"does not answer: {error}", _XID)
        return
    values = [value.strip() for value in done.stdout.split(",")]
    if done.returncode != 0 or len(values) != len(_QUERY):
        said = (done.stdout + done.stderr).strip().partition("\n")[0]
        yield Finding(
            "nvidia-smi", State.LACKING, said or f"exit code {done.returncode}", "dmesg may have errors of the GPU (Xid)"
        )
        return
    yield from judged(dict(zip(_QUERY, values, strict=True)))


def judged(values: dict[str, str]) -> Iterator[Finding]:
    if values["persistence_mode"] == "Disabled":
        remedy = "as root: nvidia-smi -pm 1"
        yield Finding("persistence", State.LACKING, "off: an unused driver unloads, and takes seconds to start again", remedy)
    else:
        yield Finding("persistence", State.OK, values["persistence_mode"].lower())
    mode = values["compute_mode"]
    if mode == "Prohibited":
        yield Finding("compute mode", State.FAILED, "prohibited", _SHARED)
    elif mode == "Exclusive_Process":
        yield Finding("compute mode", State.LACKING, "one process at a time, so no checkers or counters during a run", _SHARED)
    else:
        yield Finding("compute mode", State.OK, mode.lower())
    if values["mig.mode.current"] == "Enabled":
        remedy = "CUDA_VISIBLE_DEVICES=MIG-… (nvidia-smi -L) selects an instance; figures are then that instance's"
        yield Finding("MIG", State.LACKING, "the GPU is partitioned", remedy)
    else:
        yield Finding("MIG", State.OK, "not divided")


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
