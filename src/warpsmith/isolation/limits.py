"""What a worker may use: memory, sizes of files, numbers of processes, taken on by the worker itself and never lifted; and cores.

Cores are where it starts: code that asks the system for others may get them, and slows the measurement that it is in.
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
    """Memory is counted in addresses, which leaves no way around it; or else in what can be written (heap, private mappings).

    The drivers of GPUs reserve addresses for all the memory of host and device together, and do not start where they cannot.
    """
    if cores is not None:
        os.sched_setaffinity(0, cores)
    _limit(resource.RLIMIT_CORE, 0)
    # Drivers of GPUs share memory with themselves through files in memory, which this limit is for, too.
    in_memory = memory_bytes if memory_bytes is not None and not by_addresses else 0
    _limit(resource.RLIMIT_FSIZE, max(MAX_FILE_BYTES, in_memory))
    # Python closes descriptors up to this one by one before it starts a program, when it cannot list them.
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    # The system counts all tasks of the user, so the limit stands above all that there are now: it ends a fork bomb, no more.
    # Root is exempt from it.
    _limit(resource.RLIMIT_NPROC, int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2]) + _SPARE_TASKS)
    if memory_bytes is not None:
        pages = Path("/proc/self/statm").read_text().split()
        what, used = (resource.RLIMIT_AS, pages[0]) if by_addresses else (resource.RLIMIT_DATA, pages[5])
        _limit(what, int(used) * os.sysconf("SC_PAGESIZE") + memory_bytes)
    # Should memory run out all the same, the kernel's choice is to be a worker, never the tuner or the desktop.
    Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(what: int, value: int) -> None:
    """The lower of this and what the user has set already."""
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))
