"""The driver's device nodes. `/dev/nvidia-uvm` is missing on a freshly started machine, and nothing launches without it.

For an ordinary program the driver starts `nvidia-modprobe` to create it. A confined worker may not start programs, so its owner
does.
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
    """On a machine with NVIDIA's kernel module; others (WSL, Jetson) have other nodes, or none."""
    loaded = (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvidiactl").exists()
    return loaded and not (root / "dev/nvidia-uvm").exists()


def make_nodes(root: Path = Path("/")) -> None:
    """Create missing nodes where permitted: NVIDIA installs the program for every user."""
    if not is_uvm_missing(root) or shutil.which(COMMAND[0]) is None:
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # the driver's own refusal says what is still missing
        subprocess.run(COMMAND, check=False, timeout=_DEADLINE_S, capture_output=True, stdin=subprocess.DEVNULL)
