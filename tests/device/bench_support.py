"""A kernel as text, compiled and put on a bench: what the device tests of isolation and measurement share."""

from __future__ import annotations

import array
import fcntl
import os
import signal
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.dtype import DType
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import Binary, CompileRequest, ParameterType
from warpsmith.isolation.process import WorkerProcess
from warpsmith.measure.bench import Candidate
from warpsmith.spec.kernel import Argument, Buffer, Init, Kernel, Launch, Reference, Role, Scalar, Traffic, Workload
from warpsmith.verify.inputs import scalar_bytes, scalar_value
from warpsmith.verify.prepared import PreparedWorkload

BLOCK = 64


def buffer(name: str, dtype: str, shape: str = "n", role: str = "in", *, null: bool = False, kind: str = "normal") -> Buffer:
    return Buffer(name, DType(dtype), (Expression.parse(shape),), Role(role), Init(kind), null)


def scalar(name: str, dtype: str, value: float | str) -> Scalar:
    return Scalar(name, DType(dtype), Expression.parse(value))


UNARY: tuple[Argument, ...] = (buffer("x", "f32"), buffer("out", "f32", role="out"), scalar("n", "i32", "n"))


def make_kernel(*arguments: Argument, constants: tuple[Buffer, ...] = (), sizes: tuple[int, ...] = (1000,)) -> Kernel:
    one = (Expression.parse(1),)
    return Kernel(
        name="k",
        path=Path("kernel.toml"),
        source=Path("k.cu"),
        language=Language.CUDA,
        entry="k",
        arguments=arguments,
        constants=constants,
        launch=Launch(one, one, Expression.parse(0)),
        workloads=tuple(Workload(f"n={n}", {"n": n}) for n in sizes),
        reference=Reference(),
        traffic=Traffic(),
    )


def geometry_for(workload: Workload) -> Geometry:
    return Geometry((-(-workload.sizes["n"] // BLOCK), 1, 1), (BLOCK, 1, 1))


def request(kernel: Kernel, source: str, workload: Workload) -> CompileRequest:
    types = [ParameterType(a.name, a.dtype, isinstance(a, Buffer), isinstance(a, Buffer) and a.null) for a in kernel.arguments]
    constants = tuple(ParameterType(c.name, c.dtype, is_pointer=True) for c in kernel.constants)
    return CompileRequest(source, Path("k.cu"), kernel.language, "k", tuple(types), geometry_for(workload), constants=constants)


def candidate(pool: CompilePool, kernel: Kernel, source: str, name: str = "candidate", *, watched: bool = False) -> Candidate:
    binaries: dict[str, Binary] = {}
    for workload in kernel.workloads:
        built = pool.compile(replace(request(kernel, source, workload), watched=watched))
        assert isinstance(built, Binary), built
        binaries[workload.name] = built
    return Candidate(
        name,
        binaries,
        {w.name: geometry_for(w) for w in kernel.workloads},
        {
            w.name: tuple(
                scalar_bytes(a, scalar_value(a, kernel, w)) if isinstance(a, Scalar) else None for a in kernel.arguments
            )
            for w in kernel.workloads
        },
    )


def prepare(kernel: Kernel, expected=None) -> list[PreparedWorkload]:
    """`expected(inputs)` gives the outputs by name; by default `out = 2 x`."""
    oracle = expected or (lambda inputs: {"out": 2.0 * inputs["x"].astype(np.float64)})
    ready = []
    for workload in kernel.workloads:
        blank = PreparedWorkload.prepare(kernel, workload, 7, geometry_for(workload))
        blank.expected = oracle(blank.inputs)
        ready.append(blank)
    return ready


@contextmanager
def killed_at_work(process: WorkerProcess, *, and_its_successor: bool = False) -> Iterator[None]:
    """What is asked of this idle worker inside finds it killed by somebody else after it was asked, before it answers."""
    os.kill(process.pid, signal.SIGSTOP)
    before, over = _workers(), threading.Event()

    def kill() -> None:
        unread = array.array("i", [0])
        while not unread[0] and not over.is_set():
            fcntl.ioctl(process._channel._sock, termios.TIOCOUTQ, unread)
        os.kill(process.pid, signal.SIGKILL)
        while and_its_successor and not over.is_set():
            for pid in _workers() - before:
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def _workers() -> set[int]:
    """Processes that this one started, dead ones that were not collected yet among them."""
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(entry.name))
    return found
