"""What a confined worker may access: the kernel's folders, the toolchain, GPU devices, and a scratch folder.

Computed in the worker, which knows its interpreter and paths. `confinement` enforces it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpsmith.isolation.folders import readable_entries, wide_folders
from warpsmith.isolation.landlock import FileAccess

READ = FileAccess.READ_FILE | FileAccess.READ_DIR
RUN = READ | FileAccess.EXECUTE
DEVICE = READ | FileAccess.WRITE_FILE | FileAccess.IOCTL_DEV
SCRATCH = (
    READ | FileAccess.WRITE_FILE | FileAccess.TRUNCATE | FileAccess.REFER | FileAccess.MAKE_REG | FileAccess.MAKE_DIR
    | FileAccess.MAKE_SYM | FileAccess.MAKE_FIFO | FileAccess.REMOVE_FILE | FileAccess.REMOVE_DIR
)  # fmt: skip

_PROGRAMS = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/gnu/store", "/run/opengl-driver",
    "/opt/cuda*", "/opt/nvidia*", "/opt/rocm*", "/opt/amdgpu*", "/opt/intel",
)  # fmt: skip
_SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/OpenCL", "/etc/nvidia",
    "/proc/self", "/proc/cpuinfo", "/proc/cmdline", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems",
    "/proc/devices", "/proc/modules", "/proc/driver/nvidia*", "/proc/sys/vm", "/proc/sys/kernel",
    "/proc/device-tree", "/sys/firmware/devicetree",  # by these Jetson's libraries tell which board they are on
    "/sys/devices", "/sys/class", "/sys/bus", "/sys/dev", "/sys/module", "/sys/kernel/mm", "/sys/fs/cgroup",
)  # fmt: skip
_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
    "/dev/nvidia*", "/dev/kfd", "/dev/dri/renderD*", "/dev/dxg",
    "/dev/nvhost*", "/dev/nvmap", "/dev/nvgpu*", "/dev/host1x-fence",  # Jetson
)  # fmt: skip
_LISTED = ("/dev/dri",)  # libdrm, on which AMD's libraries rely, finds GPUs by listing it; screens in it stay shut
_OWN_THREADS = Path("/proc/self/task")
_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "LD_LIBRARY_PATH", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")


@dataclass(frozen=True, slots=True)
class Policy:
    """`readable` are a kernel's files and folders, as from `folders.readable_entries`; `home` is the owner's.

    `checker` is the folder of a program that watches the worker: the two processes find each other in /proc and use a local
    socket.

    `drives_gpu`: a GPU driver is used. It makes files in memory, which no limit counts; NVIDIA's, from release 570 on, names
    its threads by writing to their files in /proc, and does not start if it cannot.
    """

    home: Path
    scratch: Path
    readable: tuple[Path, ...]
    may_start_processes: bool
    checker: Path | None = None
    drives_gpu: bool = False


def grants(policy: Policy, environment: Mapping[str, str]) -> dict[Path, FileAccess]:
    found: dict[Path, FileAccess] = {}
    for path in _existing(_LISTED):
        found[path] = FileAccess.READ_DIR
    for path in _existing(_DEVICES):
        found[path] = DEVICE
    for path in (*_existing(_SYSTEM_FILES), *policy.readable):
        found[path] = READ
    for path in (*_existing(_PROGRAMS), *_toolchain(environment, policy.home)):
        found[path] = RUN
    if policy.checker is not None:
        found[policy.checker] = RUN
        # `/proc/self` above is only this process. Memory, environment and files of processes outside stay inaccessible.
        # The process does not exist yet, so no rule can name its threads' files. Root could change settings there.
        found[Path("/proc")] = READ | FileAccess.WRITE_FILE if policy.drives_gpu and os.geteuid() != 0 else READ
    if policy.drives_gpu:
        found[_OWN_THREADS] = READ | FileAccess.WRITE_FILE | FileAccess.TRUNCATE
    found[policy.scratch] = SCRATCH
    return found


def _toolchain(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    """The interpreter, its packages (including Warpsmith, wherever installed) and paths from the user's variables."""
    named = [part for name in _VARIABLES for part in environment.get(name, "").split(os.pathsep)]
    for text in {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, *named}:
        path = Path(text)
        if path.is_absolute():
            yield from readable_entries([path], home) if path.resolve() in wide_folders(home) else [path]


def _existing(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        path = Path(pattern)
        yield from path.parent.glob(path.name) if "*" in pattern else [path]
