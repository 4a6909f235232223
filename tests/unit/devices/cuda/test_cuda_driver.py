"""The real bindings on a driver made of host memory (`libcuda.c`): what is passed, what comes back, what ends a worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._gpu.session import open_session
from warpsmith.devices.base import ContextLost, LaunchError
from warpsmith.devices.cuda import driver, nodes
from warpsmith.devices.cuda.hints import hint_for

_PROLOGUE = """
from dataclasses import replace
from warpsmith.core.hardware import Geometry, Resources
from warpsmith.devices._gpu.session import VARIABLE
from warpsmith.devices.base import Binary, ContextLost, LaunchError
from warpsmith.devices.registry import load_device
from warpsmith.core.errors import UnavailableError

def number(value): return value.to_bytes(4, "little", signed=True)
def geometry(*, grid_y=1, shared=0): return Geometry((2, grid_y, 1), (32, 1, 1), shared)
device = load_device("cuda")
"""


def run(folder: Path, script: str, *, version: int = 13040, capability: int = 90) -> str:
    """What a process prints that sees this driver and no other."""
    pytest.importorskip("cuda.bindings.driver")
    source, library = Path(__file__).with_name("libcuda.c"), folder / "libcuda.so.1"
    flags = ["-w", "-O1", "-shared", "-fPIC", "-nostdlib", f"-DDRIVER_VERSION={version}", f"-DCAPABILITY={capability}"]
    environment = {**os.environ, "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"), "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig")}
    subprocess.run([str(clang_binary()), "cc", *flags, "-o", str(library), str(source)], check=True, env=environment)
    command = [sys.executable, "-c", _PROLOGUE + script]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_gpus_life_through_the_real_bindings(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
info, session = device.describe(), device.open()
catalogued = replace(load_device("cuda:sm_90").describe().limits, compute_units=132)
print(info.description, info.limits == catalogued, session.api._bus_id)
adds = session.load(Binary(b"code", "adds", Resources(), {f"{VARIABLE}shift": "shift"}))
buffer = bytearray([1, 2, 3, 4])
print(adds.launch((memoryview(buffer), number(10)), geometry(shared=100_000)), *buffer)
adds.set_constants({"shift": bytes([1])})
print(adds.launch((None, number(1)), geometry()), adds.launch((memoryview(buffer), number(0)), geometry()), *buffer)
for launch in (geometry(grid_y=65536), geometry(shared=240_000)):
    try:
        adds.launch((None, number(1)), launch)
    except LaunchError as error:
        print(error)
adds.close()
strays = session.load(Binary(b"code", "strays", Resources()))
try:
    strays.launch((None, number(1)), geometry())
except ContextLost as error:
    print(error)
""",
    )
    assert said.splitlines() == [
        "NVIDIA Host Memory (sm_90a) True 0000:01:00.0",
        "1500000 11 12 13 14",
        "1500000 1500000 12 13 14 15",
        "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (as NVIDIA says it)",
        "cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE (as NVIDIA says it)",
        "cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (as NVIDIA says it)",
    ]


@pytest.mark.parametrize(
    ("version", "capability", "said"),
    [
        (12080, 90, "NVIDIA's driver is for CUDA 12.8, NVRTC makes code for CUDA 13"),
        (13040, 70, "does not compile for sm_70"),
        (13040, 89, "NVIDIA Host Memory (sm_89)"),
    ],
)
def test_a_gpu_that_the_compiler_or_the_driver_is_not_for(tmp_path: Path, version: int, capability: int, said: str) -> None:
    script = "try:\n    print(device.describe().description)\nexcept UnavailableError as error:\n    print(error)"
    assert said in run(tmp_path, script, version=version, capability=capability)


def test_what_nvidia_says_of_errors_that_end_a_process() -> None:
    results = pytest.importorskip("cuda.bindings.driver").CUresult
    assert {error.name for error in results} >= driver.FATAL
    ending = {error.name for error in results if "relaunched" in error.__doc__ or "cannot be used anymore" in error.__doc__}
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in ending
    assert ending <= driver.FATAL


@pytest.mark.parametrize("error", [LaunchError("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"), ContextLost("cuCtxSetCurrent: …")])
def test_a_gpu_that_cannot_be_had_is_not_a_candidates_fault(error: Exception) -> None:
    def taken() -> None:
        raise error

    with pytest.raises(UnavailableError, match=f"the GPU does not open: {error}"):
        open_session(taken, pauses_s=())  # type: ignore[arg-type]


def test_an_error_that_the_bindings_do_not_know_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def cuLaunchKernel() -> None:
        raise ValueError("12345 is not a valid CUresult")

    monkeypatch.setattr(driver, "driver", lambda: SimpleNamespace(cuLaunchKernel=cuLaunchKernel))
    with pytest.raises(ContextLost, match="cuLaunchKernel: 12345 is not a valid CUresult"):
        driver.call("cuLaunchKernel")


def test_what_a_second_try_may_mend_gets_one() -> None:
    results = pytest.importorskip("cuda.bindings.driver").CUresult
    answers = [results.CUDA_ERROR_UNKNOWN, results.CUDA_SUCCESS]
    module = SimpleNamespace(CUresult=results, cuInit=lambda _flags: (answers.pop(0),))
    assert driver._started(module, pauses_s=(0, 0)) is None  # type: ignore[arg-type]
    answers = [results.CUDA_ERROR_NO_DEVICE, results.CUDA_SUCCESS]
    assert driver._started(module, pauses_s=(0, 0)) == "CUDA_ERROR_NO_DEVICE"  # type: ignore[arg-type]


def test_a_gpu_whose_last_owner_is_still_going_is_asked_again() -> None:
    refusals = [LaunchError("cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY")]

    def connect() -> SimpleNamespace:
        if refusals:
            raise refusals.pop()
        return SimpleNamespace(cache_bytes=0, allocate=lambda nbytes: nbytes)

    assert open_session(connect, pauses_s=(0,)).api.cache_bytes == 0


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """One whose kernel module is loaded, and that nobody has used since it was started."""
    for name in ("proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_a_missing_node_is_made_by_who_may(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = machine / "bin" / "nvidia-modprobe"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$*" = "-c 0 -u" ] && touch {machine}/dev/nvidia-uvm\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert nodes.is_uvm_missing(machine)
    nodes.make_nodes(machine)
    assert not nodes.is_uvm_missing(machine)


def test_what_to_do_where_the_driver_does_not_start(machine: Path) -> None:
    assert "nvidia-modprobe -c 0 -u" in hint_for("CUDA_ERROR_UNKNOWN", machine)
    (machine / "dev/nvidia-uvm").touch()
    assert "nvidia-modprobe" not in hint_for("CUDA_ERROR_UNKNOWN", machine)
    assert "WARPSMITH_CONFINEMENT=off" in hint_for("CUDA_ERROR_OPERATING_SYSTEM")
    assert not nodes.is_uvm_missing(machine / "elsewhere")  # no kernel module of NVIDIA's, no node to miss
