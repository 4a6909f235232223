"""A worker that tries what code that means harm would try, and says how far it got."""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from warpsmith.isolation import syscalls
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.serving import serve

LIBC = ctypes.CDLL(None, use_errno=True)
MACHINE = syscalls.MACHINES.index(platform.machine())


@dataclass(frozen=True, slots=True)
class Try(Job[str]):
    """The answer is "done", or the name of the error."""

    what: str
    target: str = ""
    reply: ClassVar[Any] = str


def raw(group: syscalls.Numbers, name: str, *arguments: Any) -> None:
    if LIBC.syscall(group[name][MACHINE], *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def send(kind: socket.SocketKind, family: socket.AddressFamily, address: Any) -> None:
    with socket.socket(family, kind) as sock:
        if kind is socket.SOCK_DGRAM:
            sock.sendto(b"secret", address)
        else:
            sock.settimeout(2)
            sock.connect(address)


def in_a_child(target: str) -> None:
    if subprocess.run(["cat", target], capture_output=True, check=False).returncode != 0:
        raise PermissionError(errno.EACCES, target)


def through_a_link(target: str) -> None:
    link = Path.home() / "link"
    link.symlink_to(target)
    link.read_bytes()


def in_a_thread(target: str) -> None:
    caught: list[OSError] = []

    def read() -> None:
        try:
            Path(target).read_bytes()
        except OSError as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


def leave_the_group(_target: str) -> None:
    for _ in range(20):
        if os.fork() == 0:
            try:
                os.setsid()
            finally:
                time.sleep(1000)
    time.sleep(1000)


def hard_links(target: str) -> None:
    os.link(target, Path.home() / "hard")


def cores_of_an_own_thread(_target: str) -> None:
    """As runtimes pin theirs: another thread by its number, and a thread itself by its own."""
    numbers: list[int] = []
    begun, over = threading.Event(), threading.Event()

    def run() -> None:
        numbers.append(threading.get_native_id())
        os.sched_setaffinity(numbers[0], {min(os.sched_getaffinity(0))})
        begun.set()
        over.wait()

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    try:
        assert len(os.sched_getaffinity(numbers[0])) == 1
        os.sched_setaffinity(numbers[0], os.sched_getaffinity(0))
        assert os.sched_getaffinity(numbers[0]) == os.sched_getaffinity(0)
    finally:
        over.set()
        thread.join()


def cores_in_a_child(target: str) -> None:
    script = f"import os; os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)); os.sched_setaffinity({target}, {{0}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    if b"PermissionError" in done.stderr:
        raise PermissionError(errno.EPERM, target)


def signal_by_a_pipe(how: str) -> Callable[[str], None]:
    """Have the kernel send the signal, when something arrives in a pipe of ours. Signal 0 ends nobody who gets it."""

    def send(target: str) -> None:
        reading, writing = os.pipe()
        if how == "number":
            fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGCONT)
        elif how == "owner":
            fcntl.fcntl(reading, fcntl.F_SETOWN, int(target))
        else:
            fcntl.fcntl(reading, syscalls.FCNTL_REFUSED["F_SETOWN_EX"], struct.pack("ii", 1, int(target)))
        fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
        os.write(writing, b"x")

    return send


def hoard(_target: str) -> None:
    """Far more than the limit, each file within the limit of a file's size and none mapped."""
    for _ in range(8):
        os.ftruncate(os.memfd_create("hoard"), 256 << 20)


def hoard_mapped(_target: str) -> None:
    held = [mmap.mmap(-1, 256 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) for _ in range(8)]
    assert all(memory.write(b"x") for memory in held)


def name_a_thread(process: str) -> None:
    """One that is not the first, as NVIDIA's driver names its own; or another process's."""

    def write() -> None:
        place = f"{process}/task/{process}" if process else f"{os.getpid()}/task/{threading.get_native_id()}"
        try:
            Path(f"/proc/{place}/comm").write_text("cuda-EvtHandlr")
        except OSError as error:
            failed.append(error)

    failed: list[OSError] = []
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


ATTEMPTS: dict[str, Callable[[str], Any]] = {
    "name a thread": name_a_thread,
    "read": lambda target: Path(target).read_bytes(),
    "list": os.listdir,
    "read in a child": in_a_child,
    "read in a thread": in_a_thread,
    "read through a link": through_a_link,
    "link": hard_links,
    "create": lambda target: Path(target).write_text("x"),
    "append": lambda target: os.close(os.open(target, os.O_WRONLY | os.O_APPEND)),
    "empty by name": lambda target: os.truncate(target, 0),
    "empty while reading": lambda target: os.close(os.open(target, os.O_RDONLY | os.O_TRUNC)),
    "remove": os.unlink,
    "rename": lambda target: Path(target).rename(f"{target}.moved"),
    "change mode": lambda target: Path(target).chmod(0o777),
    "change times": os.utime,
    "tcp": lambda target: send(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", int(target))),
    "tcp6": lambda target: send(socket.SOCK_STREAM, socket.AF_INET6, ("::1", int(target))),
    "udp": lambda target: send(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", int(target))),
    "unix": lambda target: send(socket.SOCK_STREAM, socket.AF_UNIX, target),
    "unix datagram": lambda target: send(socket.SOCK_DGRAM, socket.AF_UNIX, target),
    "abstract": lambda target: send(socket.SOCK_STREAM, socket.AF_UNIX, f"\0{target}"),
    "netlink": lambda _: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close(),
    "signal": lambda target: os.kill(int(target), 0),
    "signal by descriptor": lambda target: signal.pidfd_send_signal(os.pidfd_open(int(target)), 0),
    "trace": lambda target: raw(syscalls.OTHER_PROCESSES, "ptrace", 16, int(target), 0, 0),
    "limit": lambda target: resource.prlimit(int(target), resource.RLIMIT_NOFILE),
    "slow down": lambda target: os.setpriority(os.PRIO_PROCESS, int(target), 1),
    "choose its cores": lambda target: os.sched_setaffinity(int(target), {0}),
    "choose own cores": lambda _: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "choose own cores by number": lambda _: os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)),
    "choose the cores of an own thread": cores_of_an_own_thread,
    "choose its cores in a child": cores_in_a_child,
    "schedule it": lambda target: os.sched_setscheduler(int(target), os.SCHED_BATCH, os.sched_param(0)),
    "own a pipe": signal_by_a_pipe("owner"),
    "own a pipe by structure": signal_by_a_pipe("structure"),
    "signal by a pipe": signal_by_a_pipe("number"),
    "hold up who opens it": lambda target: fcntl.fcntl(os.open(target, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "hoard memory in files": hoard,
    "hoard shared memory": hoard_mapped,
    "hoard secret memory": lambda _: raw(syscalls.SYSTEM, "memfd_secret", 0),
    "hoard in /dev/shm": lambda _: Path("/dev/shm/warpsmith-hoard").write_text("x"),
    "spare itself from the lack of memory": lambda _: Path("/proc/self/oom_score_adj").write_text("-1000"),
    "spare itself by number": lambda _: Path(f"/proc/{os.getpid()}/oom_score_adj").write_text("0"),
    "queue what all share": lambda _: raw(syscalls.ABSENT, "io_setup", 1000, ctypes.byref(ctypes.c_ulong(0))),
    "raise a limit": lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40)),
    "fork": lambda _: os.fork() or os._exit(0),
    "spawn": lambda _: os.posix_spawn("/bin/true", ["true"], {}),
    "exec": lambda _: os.execv("/bin/true", ["true"]),
    "leave the session": lambda _: os.setsid(),
    "leave the group": leave_the_group,
    "namespace": lambda _: raw(syscalls.SYSTEM, "unshare", 0x10000000),
    "chroot": os.chroot,
    "mount": lambda target: raw(syscalls.SYSTEM, "mount", b"none", target.encode(), b"tmpfs", 0, None),
    "io_uring": lambda _: raw(syscalls.ABSENT, "io_uring_setup", 1, ctypes.create_string_buffer(120)),
    "a call from the future": lambda _: raw({"new": (syscalls.NEWEST_KNOWN + 1,) * 2}, "new"),
    "status": lambda _: Path("/proc/self/status").read_text(),
}


def attempt(job: Try, _blobs: Any, _fds: Any) -> tuple[str, tuple[()]]:
    try:
        found = ATTEMPTS[job.what](job.target)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error)), ()
    return found if isinstance(found, str) else "done", ()


if __name__ == "__main__":
    serve({Try: attempt})
