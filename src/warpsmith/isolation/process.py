"""A worker process: started with limits, called with deadlines, and replaced by its owner when it dies.

It isolates the tuner from failures of a kernel or a compiler (crash, hang, memory corruption, endless allocation), and its
answers are validated. Against hostile code it confines itself first (`boot`, `confinement`); docs/concepts/confinement.md
describes the limits of this.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from warpsmith.core.errors import WarpsmithError
from warpsmith.isolation.affinity import judge_cores
from warpsmith.isolation.boot import Orders
from warpsmith.isolation.bytecode import keep_compiled
from warpsmith.isolation.channel import BadFrame, Channel, DeadlinePassed, Disconnected, Frame
from warpsmith.isolation.environment import scrubbed_environment
from warpsmith.isolation.folders import home_folder, readable_entries
from warpsmith.isolation.jobs import Job, Ready, encode_job
from warpsmith.isolation.policy import Policy
from warpsmith.isolation.replies import decode_reply
from warpsmith.isolation.scratch import Scratch
from warpsmith.isolation.serving import EXIT_CHILD_KILLED, EXIT_OUT_OF_MEMORY
from warpsmith.settings import Confinement, read_confinement

Reply = TypeVar("Reply")

STARTUP_DEADLINE_S = 60.0
_BOOT = "warpsmith.isolation.boot"
_LAST_WORDS_BYTES = 4096
_LONGEST_TEXT_BYTES = 1 << 20
_GRACE_S = 5.0
_OUT_OF_MEMORY_WORDS = ("bad_alloc", "out of memory", "Cannot allocate memory", "MemoryError")

# LLVM, inside drivers and compilers, writes these after the informative line.
_STACK_DUMP = re.compile(r"\s*(#\d+ |\d+\.\s|Stack dump|PLEASE submit)")


class WorkerDied(Exception):  # noqa: N818 - reads as the fact it states
    """The process ended, or was killed because it violated the protocol; `reason` has details.

    `from_outside`: something else killed it, probably the system because memory ran out. That says nothing about the job, which
    should be retried once in another worker.
    """

    def __init__(self, reason: str, *, from_outside: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.from_outside = from_outside


class WorkerTimedOut(Exception):  # noqa: N818
    """No answer within `limit_s`: the whole process group was killed."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no answer within {limit_s:g} s")
        self.limit_s = limit_s


class WorkerProcess:
    """`python -m module`, which calls `serving.serve`, in its own session: Ctrl-C in the terminal does not reach it.

    It can read `folders` and the toolchain, and writes to a scratch folder that is removed with it. A `wrapper` program watches
    it; both are confined alike except for local sockets.
    """

    def __init__(
        self,
        module: str,
        *,
        cores: frozenset[int] | None = None,
        memory_bytes: int | None = None,
        folders: Iterable[Path] = (),
        may_start_processes: bool = False,
        memory_by_addresses: bool = True,
        wrapper: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.readable = readable_entries(folders)
        self._memory_bytes = memory_bytes
        self._scratch = Scratch()
        is_confined = read_confinement() is not Confinement.OFF
        checker = Path(wrapper[0]).parent if wrapper else None
        starts = may_start_processes or checker is not None
        readable = tuple(self.readable)
        policy = Policy(home_folder(), self._scratch.folder, readable, starts, checker, drives_gpu=not memory_by_addresses)
        only = tuple(cores) if cores is not None else None
        orders = _memory_file(
            Orders(only, memory_bytes, policy if is_confined else None, memory_by_addresses, tuple(wrapper)).encode()
        )
        ours, theirs = socket.socketpair()
        cores_judge, cores_asked = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        # A file in memory instead of a pipe: it needs no thread to drain, and RLIMIT_FSIZE bounds a kernel's output.
        self._output = os.memfd_create("worker-output", os.MFD_CLOEXEC)
        output = os.open(f"/proc/self/fd/{self._output}", os.O_WRONLY | os.O_APPEND)
        given = (theirs.fileno(), lifeline, cores_asked.fileno(), orders)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _BOOT, module, *map(str, given)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=given,
                start_new_session=True,
                env=scrubbed_environment(environment, self._scratch.folder),
            )
        except BaseException:
            ours.close()
            cores_judge.close()
            os.close(self._lifeline)
            os.close(self._output)
            self._scratch.remove()
            raise
        finally:
            theirs.close()
            cores_asked.close()
            os.close(lifeline)
            os.close(orders)
            os.close(output)
        judge_cores(cores_judge)
        keep_compiled()
        self._channel = Channel(ours)
        self._ready = False
        self._closed = False
        self._killed = False
        self._words: list[str] = []
        self._ending = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(
        self, job: Job[Reply], blobs: Sequence[bytes] = (), fds: Sequence[int] = (), *, deadline_s: float
    ) -> tuple[Reply, tuple[bytes, ...]]:
        """Send one job and wait for its answer. Raises WorkerDied, WorkerTimedOut, or the WarpsmithError that the worker
        relayed.
        """
        if self._closed:
            raise WorkerDied("the worker is closed")
        if not self._ready:
            self._exchange(Ready(), (), (), STARTUP_DEADLINE_S)
            self._ready = True
        return self._exchange(job, tuple(blobs), tuple(fds), deadline_s)

    def _exchange(
        self, job: Job[Reply], blobs: tuple[bytes, ...], fds: tuple[int, ...], deadline_s: float
    ) -> tuple[Reply, tuple[bytes, ...]]:
        deadline = time.monotonic() + deadline_s
        os.ftruncate(self._output, 0)  # the last words are this job's
        try:
            self._channel.send(Frame(encode_job(job), blobs, fds), deadline)
            frame = self._channel.receive(deadline)
            for fd in frame.fds:
                os.close(fd)  # workers have none to give
            return decode_reply(job, frame.header), frame.blobs
        except DeadlinePassed:
            self._end(kill=True)
            raise WorkerTimedOut(deadline_s) from None
        except Disconnected:
            raise self._obituary() from None
        except WarpsmithError:
            raise
        except (BadFrame, ValueError) as error:
            self._end(kill=True)
            raise WorkerDied(f"the worker violated the protocol: {str(error).splitlines()[0]}") from error
        except BaseException:
            # Interrupted (Ctrl-C): the stream is out of step, so this worker cannot be called again.
            self._end(kill=True)
            raise

    @property
    def alive(self) -> bool:
        """Whether it can be called. Does not reap the process, so that `_end` can still kill its group by id."""
        with self._ending:
            return not self._closed and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def kill(self) -> None:
        """End it, from any thread: a call in progress raises WorkerDied there."""
        with self._ending:
            if not self._closed:
                self._killed = True
                self._kill_group()

    def finish(self, file_name: str, deadline_s: float) -> str:
        """Let an idle worker exit, then read that file of its scratch folder; empty if there is none."""
        if self._closed:
            return ""
        self._channel.close()
        self._wait_exit(deadline_s)
        text = _text_of(self._scratch.folder / file_name)
        self._end(kill=True)
        return text

    def close(self) -> None:
        """Let an idle worker exit; kill it if it does not. Harmless if already closed."""
        if not self._closed:
            self._channel.close()
            self._end(kill=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _obituary(self) -> WorkerDied:
        code = self._end(kill=False)
        starved = [line for line in self._words if any(phrase in line for phrase in _OUT_OF_MEMORY_WORDS)]
        words = starved or [line for line in self._words if not _STACK_DUMP.match(line)]
        tail = f": {words[-1].strip()}" if words else ""
        if code == EXIT_OUT_OF_MEMORY or starved:
            limit = f" (limit {self._memory_bytes / 2**30:.3g} GiB)" if self._memory_bytes is not None else ""
            return WorkerDied(f"out of memory{limit}{tail}")
        if code in (-signal.SIGKILL, EXIT_CHILD_KILLED) and not self._killed:
            who = "its compiler was " if code == EXIT_CHILD_KILLED else ""
            return WorkerDied(f"{who}killed by SIGKILL, probably by the system, out of memory{tail}", from_outside=True)
        if code < 0:
            return WorkerDied(f"killed by {_signal_name(-code)}{tail}")
        return WorkerDied(f"exited with code {code}{tail}")

    def _last_words(self) -> list[str]:
        size = os.fstat(self._output).st_size
        tail = os.pread(self._output, _LAST_WORDS_BYTES, max(0, size - _LAST_WORDS_BYTES))
        return [line for line in tail.decode(errors="replace").splitlines() if line.strip()]

    def _end(self, *, kill: bool) -> int:
        """Wait for the process to end (or end it), then kill its children, and only then reap it.

        Until it is reaped its id cannot be reused, so it is safe to kill the group by id.
        """
        if not kill:
            self._wait_exit(_GRACE_S)
        with self._ending:
            if not self._closed:
                self._closed = True
                self._kill_group()
                _reap(self._process)
                self._words = self._last_words()
                self._channel.close()
                os.close(self._lifeline)
                os.close(self._output)
                self._scratch.remove()
        return self._process.returncode if self._process.returncode is not None else -signal.SIGKILL

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # somebody else killed it before it had a group of its own
            os.killpg(self._process.pid, signal.SIGKILL)

    def _wait_exit(self, seconds: float) -> None:
        fd = os.pidfd_open(self._process.pid)
        try:
            select.select([fd], [], [], seconds)
        finally:
            os.close(fd)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """A process killed inside a GPU driver call ends when that call does, which may be never."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("worker-orders", os.MFD_CLOEXEC)
    os.pwrite(fd, content, 0)
    return fd


def _text_of(file: Path) -> str:
    """Written by the worker: links and other non-regular files are not followed."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as stream:
        is_plain = stat.S_ISREG(os.fstat(fd).st_mode)
        return stream.read(_LONGEST_TEXT_BYTES).decode(errors="replace") if is_plain else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
