"""Lets a worker's threads set the affinity of threads in their own process, as runtimes do, and of no others.

A system call filter sees a thread's number and not its process. So the kernel asks the tuner (seccomp's user notification)
while the worker's thread waits; a thread's request for itself, by the number 0, passes without asking.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import threading
from pathlib import Path

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_QUESTION = struct.Struct("QIIiIQ6Q")  # id, caller, flags, call, architecture, instruction, arguments
_ANSWER = struct.Struct("QqiI")  # id, value, error, flags
_GO_ON = 1


def judge_cores(sock: socket.socket) -> None:
    """Answers in a separate thread while the worker lives. `sock` delivers the descriptor, or ends if there is none."""
    threading.Thread(target=_judge, args=(sock,), name="warpsmith-cores", daemon=True).start()


def _judge(sock: socket.socket) -> None:
    with sock:
        try:
            _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        except ConnectionResetError:
            return
    for fd in fds:
        try:
            _answer_all(fd)
        finally:
            os.close(fd)


def _answer_all(fd: int) -> None:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    while not any(events & (select.POLLHUP | select.POLLERR) for _, events in waiting.poll()):
        try:
            _answer(fd)
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.EINTR}:  # the caller was killed meanwhile
                raise


def _answer(fd: int) -> None:
    question = bytearray(_QUESTION.size)
    fcntl.ioctl(fd, _RECEIVE, question)
    number, caller, _, _, _, _, thread, *_ = _QUESTION.unpack(question)
    is_own = Path(f"/proc/{caller}/task/{ctypes.c_int32(thread & 0xFFFFFFFF).value}").exists()
    answer = (0, 0, _GO_ON) if is_own else (0, -errno.EPERM, 0)
    fcntl.ioctl(fd, _SEND, _ANSWER.pack(number, *answer))
