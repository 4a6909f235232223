"""Resource limits of a worker: memory, file sizes, processes, applied by the worker itself and irrevocable; and cores.

Cores are only its initial affinity: code that requests others may get them, and slows its own measurement.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from pathlib import Path

MAX_FILE_BYTES = 256 << 20
MAX_OPEN_FILES = 1024
_SPARE_TASKS = 4096


def apply_limits(cores: Collection[int] | None, memory_bytes: int | None, *, by_addresses: bool = True) -> None:
    """Limits memory by address space, which cannot be bypassed, or else by writable memory (heap, private mappings).

    GPU drivers reserve addresses for all memory of host and device together, and do not start under such a limit.
    """
    if cores is not None:
        os.sched_setaffinity(0, cores)
    _limit(resource.RLIMIT_CORE, 0)
    # GPU drivers share memory through memfd files, to which this limit also applies.
    in_memory = memory_bytes if memory_bytes is not None and not by_addresses else 0
    _limit(resource.RLIMIT_FSIZE, max(MAX_FILE_BYTES, in_memory))
    # Python closes descriptors up to this one by one before it starts a program, if it cannot list them.
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    # The system counts all tasks of the user, so the limit is above all current ones: it only stops a fork bomb.
    # Root is exempt from it.
    _limit(resource.RLIMIT_NPROC, int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2]) + _SPARE_TASKS)
    if memory_bytes is not None:
        pages = Path("/proc/self/statm").read_text().split()
        what, used = (resource.RLIMIT_AS, pages[0]) if by_addresses else (resource.RLIMIT_DATA, pages[5])
        _limit(what, int(used) * os.sysconf("SC_PAGESIZE") + memory_bytes)
    # If memory runs out anyway, the kernel should kill a worker, never the tuner or the desktop.
    Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(what: int, value: int) -> None:
    """The lower of this and the existing limit."""
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))
