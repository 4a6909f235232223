"""Launching through `GpuApi`: what is copied, passed and timed, on a GPU made of host memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading, Resources
from warpsmith.devices._gpu.requests import require_fitting
from warpsmith.devices._gpu.session import VARIABLE, GpuSession
from warpsmith.devices.base import Binary, CompileError, LaunchError, ParameterType
from warpsmith.devices.memory import Contents, Filling
from warpsmith.measure.jobs import Load, Time, Unload
from warpsmith.measure.worker import _Memory, _Run, _Worker

GEOMETRY = Geometry((2, 1, 1), (32, 1, 1))


class HostGpu:
    """Its only kernel adds a scalar and a constant to every byte of its first parameter, if that is not null."""

    cache_bytes = 64

    def __init__(self) -> None:
        self.log: list[str] = []
        self.constant = ctypes.create_string_buffer(4)
        self.memory_bytes = 1 << 30

    def allocate(self, nbytes: int) -> Any:
        if nbytes > self.memory_bytes:
            raise LaunchError("out of memory")
        self.memory_bytes -= nbytes
        self.log.append(f"allocate {nbytes}")
        return ctypes.create_string_buffer(nbytes)

    def free(self, memory: Any) -> None:
        self.memory_bytes += ctypes.sizeof(memory)
        self.log.append(f"free {ctypes.sizeof(memory)}")

    def address(self, memory: Any) -> int:
        return ctypes.addressof(memory)

    def copy_in(self, memory: Any, host_address: int, nbytes: int) -> None:
        ctypes.memmove(memory, host_address, nbytes)

    def copy_out(self, host_address: int, memory: Any, nbytes: int) -> None:
        ctypes.memmove(host_address, memory, nbytes)

    def pin(self, host_address: int, nbytes: int) -> None:
        raise LaunchError("these pages are not to be had")

    def unpin(self, host_address: int) -> None:
        raise LaunchError("these pages are not pinned")

    def fill(self, memory: Any, nbytes: int) -> None:
        self.log.append(f"fill {nbytes}")

    def load(self, code: bytes) -> Any:
        return code

    def unload(self, module: Any) -> None:
        self.log.append(f"unload {module.decode()}")

    def kernel(self, module: Any, name: str) -> Any:
        return name

    def variable(self, module: Any, name: str) -> tuple[Any, int]:
        assert name == "_Z5shift"
        return self.constant, 4

    def allow_shared(self, kernel: Any, nbytes: int) -> None:
        self.log.append(f"shared {nbytes}")

    def launch(self, kernel: Any, geometry: Geometry, parameters: int) -> None:
        self.log.append("launch")
        places = (ctypes.c_void_p * 2).from_address(parameters)
        pointer = ctypes.c_uint64.from_address(places[0] or 0).value
        by = ctypes.c_int32.from_address(places[1] or 0).value
        if pointer:
            memory = (ctypes.c_ubyte * 4).from_address(pointer)
            for index in range(4):
                memory[index] = (memory[index] + by + self.constant.raw[0]) % 256

    def start_clock(self) -> None:
        self.log.append("start")

    def stop_clock(self) -> int:
        self.log.append("stop")
        return 1234

    def reading(self) -> Reading | None:
        return Reading(1700, 1980, 2619, 412.5, ("sw power cap",))

    def counters(self, prepare: Callable[[], None], launch: Callable[[], None], duration_ns: int) -> Counters | NotCounted:
        self.log.append(f"counting {duration_ns}")
        prepare()
        launch()
        return NotCounted("host memory counts nothing")


@pytest.fixture
def gpu() -> HostGpu:
    return HostGpu()


def program(gpu: HostGpu) -> Any:
    return GpuSession(gpu).load(Binary(b"code", "k", Resources(shared_bytes=0), {f"{VARIABLE}shift": "_Z5shift"}))


def number(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def test_a_launch_copies_there_and_back_and_times_only_the_kernel(gpu: HostGpu) -> None:
    buffer = bytearray([1, 2, 3, 250])
    assert program(gpu).launch((memoryview(buffer), number(10)), GEOMETRY) == 1234
    assert list(buffer) == [11, 12, 13, 4]
    flush = 256 << 20  # long enough for the launch to be handed over meanwhile
    assert gpu.log == [f"allocate {flush}", "allocate 4", f"fill {flush}", "start", "launch", "stop"]


@pytest.mark.parametrize("looked_at", [True, False])
def test_of_timed_launches_at_most_the_last_is_copied_back(gpu: HostGpu, looked_at: bool) -> None:
    worker, buffer = _Worker(), bytearray([0, 0, 0, 0])
    worker._session = GpuSession(gpu)
    worker.load(Load("p", Binary(b"", "k", Resources())), (b"code",), ())
    view = memoryview(buffer)
    worker._memories["w"] = _Memory({"x": view}, np.zeros(0, np.uint8), (), (), {})
    worker._runs[1] = _Run("p", "w", (view, number(1)), GEOMETRY)
    assert worker.time(Time((1, 1, 1), (0, 0, 0), looked_at=looked_at), (), ()) == ([1234] * 3, ())
    assert gpu.log.count("launch") == 3
    assert list(buffer) == [looked_at] * 4, "nothing fills buffers on this device: each launch found the host's"


def test_where_there_is_little_memory_less_is_filled_more_often(gpu: HostGpu) -> None:
    gpu.memory_bytes = 100 << 20
    GpuSession(gpu).empty_caches()
    assert gpu.log == [f"allocate {16 << 20}", *[f"fill {16 << 20}"] * 16]


def test_guards_lie_around_a_buffer_on_the_device_too(gpu: HostGpu) -> None:
    memory = bytearray(range(20))
    session = GpuSession(gpu)
    view, guarded = memoryview(memory)[8:10], memoryview(memory)[4:16]
    session.surround(view, guarded)
    loaded = session.load(Binary(b"code", "k", Resources(shared_bytes=0)))
    loaded.launch((view, number(100)), GEOMETRY)  # the kernel writes four bytes, two of them past the end
    assert list(memory) == [*range(8), 108, 109, 110, 111, *range(12, 20)]
    assert "allocate 12" in gpu.log


def test_counters_are_taken_with_caches_emptied_before_the_launch(gpu: HostGpu) -> None:
    buffer = bytearray(4)
    assert program(gpu).counters((memoryview(buffer), number(1)), GEOMETRY) == NotCounted("host memory counts nothing")
    fill = f"fill {256 << 20}"
    assert gpu.log[-7:] == ["counting 1234", "start", fill, "stop", "start", "launch", "stop"]
    assert list(buffer) == [2, 2, 2, 2]


def test_memory_is_allocated_once_for_a_buffer_and_shared_memory_asked_for_once(gpu: HostGpu) -> None:
    loaded, buffer = program(gpu), bytearray(4)
    for _ in range(3):
        loaded.launch((memoryview(buffer), number(1)), Geometry((1, 1, 1), (32, 1, 1), 50_000))
    assert list(buffer) == [3, 3, 3, 3]
    assert gpu.log.count("allocate 4") == 1
    assert gpu.log.count("shared 50000") == 1


def test_workloads_that_do_not_fit_together_take_turns(gpu: HostGpu) -> None:
    loaded, first, second = program(gpu), bytearray(4), bytearray(6)
    gpu.memory_bytes = 8
    for buffer in (first, second, first):
        loaded.launch((memoryview(buffer), number(1)), GEOMETRY)
    assert (first[0], second[0]) == (2, 1)
    assert [entry for entry in gpu.log[1:] if "e " in entry] == ["allocate 4", "free 4", "allocate 6", "free 6", "allocate 4"]
    with pytest.raises(LaunchError, match="out of memory"):
        loaded.launch((memoryview(bytearray(9)), number(1)), GEOMETRY)


def test_inputs_are_made_on_the_host_where_the_device_has_no_room_for_their_pool(gpu: HostGpu) -> None:
    session, buffer, pool = GpuSession(gpu), memoryview(bytearray(4)), np.zeros(64, np.uint8)
    session.fill_with(Binary(b"code", "fill", Resources(shared_bytes=0)))
    gpu.memory_bytes = 60
    assert not session.fill([buffer], [Filling(buffer, pool, Contents(0), is_changed=False)])
    assert gpu.memory_bytes == 56, "the buffer itself is there"


def test_null_pointers_and_constants(gpu: HostGpu) -> None:
    loaded, buffer = program(gpu), bytearray(4)
    loaded.launch((None, number(1)), GEOMETRY)
    loaded.set_constants({"shift": b"\x05"})
    loaded.launch((memoryview(buffer), number(1)), GEOMETRY)
    assert list(buffer) == [6, 6, 6, 6]
    with pytest.raises(LaunchError, match="5 bytes do not fit __constant__ shift of 4 bytes"):
        loaded.set_constants({"shift": b"12345"})


def test_a_program_that_the_worker_unloads_leaves_the_device(gpu: HostGpu) -> None:
    worker = _Worker()
    worker._session = GpuSession(gpu)
    worker.load(Load("p", Binary(b"", "k", Resources())), (b"code",), ())
    worker.unload(Unload("p"), (), ())
    assert gpu.log[-1] == "unload code"


def test_no_launch_takes_no_time() -> None:
    worker = _Worker()
    worker._programs["p"] = SimpleNamespace(launch=lambda _arguments, _geometry: 0)  # type: ignore[assignment]
    worker._memories["w"] = _Memory({}, np.empty(0, np.uint8), (), (), {})
    worker._runs[1] = _Run("p", "w", (), GEOMETRY)
    assert worker.time(Time((1, 1), (7, 8)), (), ()) == ([1, 1], ())


def test_a_kernel_must_take_what_its_declaration_gives() -> None:
    declared = (ParameterType("out", DType.F32, is_pointer=True), ParameterType("n", DType.I32, is_pointer=False))
    require_fitting((8, 4), declared)
    with pytest.raises(CompileError, match=r"the kernel takes 3 parameters, kernel.toml gives 2"):
        require_fitting((8, 4, 4), declared)
    with pytest.raises(CompileError, match=r"parameter 2 \('n'\) has 8 bytes in the kernel; kernel.toml gives i32, 4 bytes"):
        require_fitting((8, 8), declared)
