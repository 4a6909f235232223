"""The first thing a worker runs: `python -m warpsmith.isolation.boot MODULE CHANNEL LIFELINE ORDERS`.

It ties the process to its owner, takes the limits on, confines it, and only then imports the module that serves. Started before
everything else, for confinement must be complete before a library starts a thread, and needs none of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import runpy
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.isolation.confinement import confine
from warpsmith.isolation.limits import apply_limits
from warpsmith.isolation.policy import Policy

_F_SETSIG = getattr(fcntl, "F_SETSIG", 10)  # 10 on Linux; the module names it only from Python 3.12 on


@dataclass(frozen=True, slots=True)
class Orders:
    """What the owner wants of the process; `policy` is None where it is not to be confined."""

    cores: tuple[int, ...] | None
    memory_bytes: int | None
    policy: Policy | None

    def encode(self) -> bytes:
        policy = self.policy and {
            "home": str(self.policy.home),
            "scratch": str(self.policy.scratch),
            "readable": [str(path) for path in self.policy.readable],
            "may_start_processes": self.policy.may_start_processes,
        }
        return json.dumps({"cores": self.cores, "memory_bytes": self.memory_bytes, "policy": policy}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Orders:
        values: dict[str, Any] = json.loads(data)
        policy = values["policy"] and Policy(
            Path(values["policy"]["home"]),
            Path(values["policy"]["scratch"]),
            tuple(Path(text) for text in values["policy"]["readable"]),
            values["policy"]["may_start_processes"],
        )
        return cls(values["cores"], values["memory_bytes"], policy)


def main() -> None:
    module, channel, lifeline, orders_file = sys.argv[1:]
    with os.fdopen(int(orders_file), "rb") as file:
        orders = Orders.decode(file.read())
    _hold_lifeline(int(lifeline))
    apply_limits(orders.cores, orders.memory_bytes)
    if orders.policy is not None:
        confine(orders.policy)
    sys.argv = [module, channel]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _hold_lifeline(fd: int) -> None:
    """Have the kernel SIGKILL our whole process group when the tuner's end of this pipe closes, even by kill -9.

    Not PR_SET_PDEATHSIG: that one fires when the *thread* that started us ends, and it spares our own children (compilers).
    """
    fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(fd, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        closed = os.read(fd, 1) == b""  # the tuner may have died before we got here
    except BlockingIOError:
        closed = False
    if closed:
        os._exit(0)


if __name__ == "__main__":
    main()
