"""The driver's device nodes. `/dev/nvidia-uvm` is missing on a machine that was just started, and without it nothing launches.

Whoever loads the driver as a plain program gets it made on the way: the driver starts `nvidia-modprobe`. A confined worker may
not start programs, so that its owner does it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

COMMAND = ("nvidia-modprobe", "-c", "0", "-u")
HINT = f"as root, once after each start of the machine (of a container: its host): {' '.join(COMMAND)}"
_DEADLINE_S = 20.0


def is_uvm_missing(root: Path = Path("/")) -> bool:
    """On a machine that has NVIDIA's kernel module; others have other nodes, or none (WSL, Jetson)."""
    loaded = (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvidiactl").exists()
    return loaded and not (root / "dev/nvidia-uvm").exists()


def make_nodes(root: Path = Path("/")) -> None:
    """What is missing, where that is permitted: NVIDIA installs the program so that every user may run it."""
    if not is_uvm_missing(root) or shutil.which(COMMAND[0]) is None:
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # the driver's own refusal says what is still missing
        subprocess.run(COMMAND, check=False, timeout=_DEADLINE_S, capture_output=True, stdin=subprocess.DEVNULL)
