"""The worker's side: take the limits on, then answer jobs one by one until the tuner is gone.

A job that raises a `WarpsmithError` is answered with it. Any other exception ends the worker: a process in an unknown state must
not run the next kernel, and the last line it wrote to stderr is the reason its owner reports.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from warpsmith.core.errors import WarpsmithError
from warpsmith.isolation.channel import Channel, Disconnected, Frame
from warpsmith.isolation.jobs import Job, Ready, decode_job, encode_error, encode_reply

EXIT_ERROR = 70
EXIT_OUT_OF_MEMORY = 71
MAX_FILE_BYTES = 256 << 20

_F_SETSIG = getattr(fcntl, "F_SETSIG", 10)  # 10 on Linux; the module names it only from Python 3.12 on

Handler: TypeAlias = Callable[[Any, tuple[bytes, ...], tuple[int, ...]], tuple[Any, Sequence[bytes]]]
"""(job, blobs, descriptors) -> (reply, blobs). The handler owns the descriptors."""


def serve(handlers: Mapping[type[Job[Any]], Handler]) -> NoReturn:
    """Never returns. `sys.argv` is `[module, descriptor of the channel, descriptor of the lifeline, limits as JSON]`."""
    channel_fd, lifeline_fd, limits = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    _hold_lifeline(lifeline_fd)
    _apply_limits(limits["cores"], limits["memory_bytes"])
    channel = Channel(socket.socket(fileno=channel_fd))
    table: dict[type[Job[Any]], Handler] = {Ready: lambda _job, _blobs, _fds: (None, ()), **handlers}
    known = {kind.__name__: kind for kind in table}
    code = 0
    try:
        while True:
            frame = channel.receive()
            job = decode_job(frame.header, known)
            channel.send(_answer(job, frame, table[type(job)]))
    except Disconnected:
        pass
    except MemoryError:
        code = EXIT_OUT_OF_MEMORY
    except BaseException:  # noqa: BLE001 - told to the owner through stderr and the exit code
        traceback.print_exc()
        code = EXIT_ERROR
    # Not sys.exit: vendor runtimes run destructors at exit that can hang or crash after a bad kernel.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _answer(job: Job[Any], frame: Frame, handler: Handler) -> Frame:
    try:
        reply, blobs = handler(job, frame.blobs, frame.fds)
    except WarpsmithError as error:
        return Frame(encode_error(error))
    return Frame(encode_reply(job, reply), tuple(blobs))


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


def _apply_limits(cores: list[int] | None, memory_bytes: int | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, cores)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    if memory_bytes is not None:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory_bytes, mapped + memory_bytes))
    # Should memory run out all the same, the kernel's choice is to be a worker, never the tuner or the desktop.
    Path("/proc/self/oom_score_adj").write_text("1000")
