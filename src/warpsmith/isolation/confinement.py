"""Confinement of a worker, applied by the worker to itself before it handles anything untrusted; and what a system lacks for
it.

The order matters: privileges are dropped first (the filters need no_new_privs), then files, and system calls last, because the
other two need some that are refused afterwards. The process must have a single thread: Landlock applies to the calling thread
and its children.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.isolation import landlock, seccomp
from warpsmith.isolation.capabilities import give_up_privileges
from warpsmith.isolation.policy import Policy, grants
from warpsmith.settings import Confinement, read_confinement

_LANDLOCK_NEEDED = 3
"""The first version that keeps a process from truncating files it may only read (Linux 6.2). Seccomp covers later additions."""


@dataclass(frozen=True, slots=True)
class ConfinementReport:
    """Confinement of workers on this system. `missing` lists what it lacks for untrusted code."""

    setting: Confinement
    missing: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return self.setting is not Confinement.OFF and not self.missing


def confinement_report() -> ConfinementReport:
    missing: list[str] = []
    version = landlock.abi()
    if version < _LANDLOCK_NEEDED:
        has = f"version {version}" if version else "none, or it is switched off"
        missing.append(f"Landlock version {_LANDLOCK_NEEDED} (Linux 6.2; here: {has})")
    if (filters := seccomp.missing()) is not None:
        missing.append(filters)
    return ConfinementReport(read_confinement(), tuple(missing))


def require_confinement() -> None:
    """Call before compiling or running model-written code. Raises UnavailableError if it would not be confined."""
    report = confinement_report()
    if report.setting is not Confinement.ON or not report.missing:
        return
    raise UnavailableError(
        f"code written by a model is refused: workers cannot be confined, missing {' and '.join(report.missing)}",
        hint="WARPSMITH_CONFINEMENT=best-effort runs it with the confinement available; use a container or a virtual machine",
    )


def confine(policy: Policy) -> int | None:
    """Apply everything that the system has, to this process and its children, permanently. Raises OSError if a step fails.

    The descriptor is for the owner, see `affinity`.
    """
    if (threads := len(list(Path("/proc/self/task").iterdir()))) != 1:
        raise RuntimeError(f"a process must have a single thread to be confined; it has {threads}")
    allowed = grants(policy, os.environ)
    give_up_privileges()
    version = landlock.abi()
    if version:
        landlock.restrict(allowed, version)
    if seccomp.missing() is not None:
        return None
    leave = seccomp.Leave(
        start_processes=policy.may_start_processes,
        connect=policy.checker is not None,
        make_memory_files=policy.drives_gpu,
        signals_scoped=landlock.scopes_signals(version),
    )
    return seccomp.install(leave)
