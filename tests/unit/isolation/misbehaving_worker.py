"""A worker that does whatever a bad kernel can make a worker do, on request."""

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from warpsmith.core.errors import Location, UnavailableError
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.serving import serve


@dataclass(frozen=True, slots=True)
class Echo(Job[tuple[int, ...]]):
    numbers: tuple[int, ...]
    reply: ClassVar[Any] = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misbehave(Job[int]):
    how: str
    reply: ClassVar[Any] = int


@dataclass(frozen=True, slots=True)
class Environment(Job[dict[str, str]]):
    reply: ClassVar[Any] = dict[str, str]


@dataclass(frozen=True, slots=True)
class Affinity(Job[frozenset[int]]):
    reply: ClassVar[Any] = frozenset[int]


def misbehave(job, blobs, fds):  # noqa: C901, PLR0912 - a list of sins
    match job.how:
        case "segfault":
            ctypes.string_at(0)
        case "abort":
            os.abort()
        case "exit":
            os._exit(3)
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(1000)
        case "raise":
            raise RuntimeError("the device said no")
        case "unavailable":
            raise UnavailableError("no such device", location=Location(Path("kernel.cu"), 3), hint="install one")
        case "allocate":
            return len(bytearray(1 << 40)), ()
        case "last words":
            sys.stderr.write("something first\n" * 2000 + "assertion failed: n > 0\n")
            sys.stderr.flush()
            os.abort()
        case "print":
            sys.stdout.write("hello from the worker\n")
        case "garbage":
            os.write(int(sys.argv[1]), b"this is no frame" * 100)
            time.sleep(1000)
        case "oversized":
            os.write(int(sys.argv[1]), b"WSF1" + (0xFFFFFFF0).to_bytes(4, "little") + bytes(8))
            time.sleep(1000)
        case "half a frame":
            os.write(int(sys.argv[1]), b"WSF1")
            os._exit(0)
        case "wrong type":
            return "seven", ()
        case "leave a child":
            return subprocess.Popen(["sleep", "1000"]).pid, ()
        case "leave a child and crash":
            sys.stderr.write(f"{subprocess.Popen(['sleep', '1000']).pid}\n")
            sys.stderr.flush()
            os.abort()
    return 0, ()


if __name__ == "__main__":
    serve(
        {
            Echo: lambda job, blobs, fds: (job.numbers, [*blobs, *(os.read(fd, 100) for fd in fds)]),
            Misbehave: misbehave,
            Environment: lambda job, blobs, fds: (dict(os.environ), ()),
            Affinity: lambda job, blobs, fds: (os.sched_getaffinity(0), ()),
        }
    )
