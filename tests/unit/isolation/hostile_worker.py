"""A worker that tries what code that means harm would try, and says how far it got."""

import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import subprocess
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


ATTEMPTS: dict[str, Callable[[str], Any]] = {
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
    "signal everybody": lambda _: os.kill(-1, 0),
    "trace": lambda target: raw(syscalls.OTHER_PROCESSES, "ptrace", 16, int(target), 0, 0),
    "limit": lambda target: resource.prlimit(int(target), resource.RLIMIT_NOFILE),
    "slow down": lambda target: os.setpriority(os.PRIO_PROCESS, int(target), 1),
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
