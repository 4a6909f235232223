"""Confinement of a worker: applied by the worker to itself, before anything untrusted comes near it; and what a system lacks.

The order matters: privileges go first (the filters need no_new_privs), files next, system calls last, for the other two need some
that are refused afterwards. And it must happen while there is one thread: Landlock holds for the one that asks and its children.
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
"""The first that keeps a process from emptying files it may only read (Linux 6.2). What later ones add, seccomp has too."""


@dataclass(frozen=True, slots=True)
class ConfinementReport:
    """What workers of this system get. `missing` says what it lacks for code that nobody trusts."""

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
    """To be called before code that a model wrote is compiled or run. Raises UnavailableError where it would not be confined."""
    report = confinement_report()
    if report.setting is not Confinement.ON or not report.missing:
        return
    raise UnavailableError(
        f"code written by a model is not run here: workers cannot be confined, for want of {' and '.join(report.missing)}",
        hint="WARPSMITH_CONFINEMENT=best-effort runs it with what there is; do that in a container or a virtual machine",
    )


def confine(policy: Policy) -> int | None:
    """All that the system has of it, for this process and its children, for ever. Whatever then fails raises OSError.

    The descriptor is for who started it, as `affinity` has it.
    """
    if (threads := len(list(Path("/proc/self/task").iterdir()))) != 1:
        raise RuntimeError(f"a process is confined while it has one thread; it has {threads}")
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
