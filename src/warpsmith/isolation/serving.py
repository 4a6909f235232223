"""A worker's main loop: answers jobs one by one until the tuner is gone. `boot` applies limits and confinement before.

A `WarpsmithError` is sent as the job's answer. Any other exception ends the worker: a process in an unknown state must not run
the next kernel, and the last line on its stderr is the reason that its owner reports.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from warpsmith.core.errors import WarpsmithError
from warpsmith.isolation.boot import ORDERLY
from warpsmith.isolation.channel import Channel, Disconnected, Frame
from warpsmith.isolation.jobs import Job, Ready, decode_job, encode_error, encode_reply

EXIT_ERROR = 70
EXIT_OUT_OF_MEMORY = 71
EXIT_CHILD_KILLED = 72

Handler: TypeAlias = Callable[[Any, tuple[bytes, ...], tuple[int, ...]], tuple[Any, Sequence[bytes]]]
"""(job, blobs, descriptors) -> (reply, blobs). The handler owns the descriptors."""


class ChildKilled(Exception):  # noqa: N818 - reads as the fact it states
    """A program started for a job was killed by SIGKILL, not by the worker: the job is not at fault."""


def serve(handlers: Mapping[type[Job[Any]], Handler]) -> NoReturn:
    """Never returns. `sys.argv` is `[module, descriptor of the channel]`, followed by ORDERLY if a checker is watching."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
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
    except ChildKilled:
        code = EXIT_CHILD_KILLED
    except BaseException:  # noqa: BLE001 - told to the owner through stderr and the exit code
        traceback.print_exc()
        code = EXIT_ERROR
    sys.stdout.flush()
    sys.stderr.flush()
    if ORDERLY in sys.argv[2:]:
        sys.exit(code)
    os._exit(code)  # not sys.exit: vendor runtimes run destructors at exit that can hang or crash after a bad kernel


def _answer(job: Job[Any], frame: Frame, handler: Handler) -> Frame:
    try:
        reply, blobs = handler(job, frame.blobs, frame.fds)
    except WarpsmithError as error:
        return Frame(encode_error(error))
    return Frame(encode_reply(reply), tuple(blobs))
