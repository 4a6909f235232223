"""Entry point of every worker: `python -m warpsmith.isolation.boot MODULE CHANNEL LIFELINE CORES ORDERS`.

It ties the process to its owner, applies limits, confines it, and only then imports the module that serves, or starts it under
a checker program (`wrapper`). It runs first, because confinement must be complete before a library starts a thread, and needs
no library.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import runpy
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.isolation.confinement import confine
from warpsmith.isolation.limits import apply_limits
from warpsmith.isolation.policy import Policy

ORDERLY = "orderly"
"""Makes a worker exit like an ordinary program, so that a checker around it writes its report."""

_RARELY = 100_000  # what imports make is no garbage, and to look for some in it takes a tenth of their time
_F_SETSIG = getattr(fcntl, "F_SETSIG", 10)  # 10 on Linux; the module names it only from Python 3.12 on


@dataclass(frozen=True, slots=True)
class Orders:
    """What the owner requests of the process; `policy` is None for no confinement."""

    cores: tuple[int, ...] | None
    memory_bytes: int | None
    policy: Policy | None
    memory_by_addresses: bool = True
    wrapper: tuple[str, ...] = ()

    def encode(self) -> bytes:
        policy = self.policy and {
            "home": str(self.policy.home),
            "scratch": str(self.policy.scratch),
            "readable": [str(path) for path in self.policy.readable],
            "may_start_processes": self.policy.may_start_processes,
            "checker": self.policy.checker and str(self.policy.checker),
            "drives_gpu": self.policy.drives_gpu,
        }
        values = {
            "cores": self.cores,
            "memory_bytes": self.memory_bytes,
            "policy": policy,
            "memory_by_addresses": self.memory_by_addresses,
            "wrapper": self.wrapper,
        }
        return json.dumps(values).encode()

    @classmethod
    def decode(cls, data: bytes) -> Orders:
        values: dict[str, Any] = json.loads(data)
        policy = values["policy"] and Policy(
            Path(values["policy"]["home"]),
            Path(values["policy"]["scratch"]),
            tuple(Path(text) for text in values["policy"]["readable"]),
            values["policy"]["may_start_processes"],
            values["policy"]["checker"] and Path(values["policy"]["checker"]),
            values["policy"]["drives_gpu"],
        )
        return cls(
            values["cores"], values["memory_bytes"], policy, values["memory_by_addresses"], tuple(map(str, values["wrapper"]))
        )


def main() -> None:
    module, channel, lifeline, cores, orders_file = sys.argv[1:]
    with os.fdopen(int(orders_file), "rb") as file:
        orders = Orders.decode(file.read())
    _hold_lifeline(int(lifeline))
    apply_limits(orders.cores, orders.memory_bytes, by_addresses=orders.memory_by_addresses)
    with socket.socket(fileno=int(cores)) as owner:
        if orders.policy is not None and (asking := confine(orders.policy)) is not None:
            socket.send_fds(owner, [b"\0"], [asking])
            os.close(asking)
    if orders.wrapper:
        os.chdir(Path.home())  # the scratch folder, where it may write
        command = [*orders.wrapper, sys.executable, "-P", "-m", module, channel, ORDERLY]
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    sys.argv = [module, channel]
    gc.set_threshold(_RARELY)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _hold_lifeline(fd: int) -> None:
    """Have the kernel SIGKILL this process group when the tuner's end of this pipe closes, even by kill -9.

    Not PR_SET_PDEATHSIG: it fires when the *thread* that started us ends, and it spares our own children (compilers).
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
