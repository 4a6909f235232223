"""The CUDA device on a driver that executes PTX (`tests/standin`): launches, faults, refusals, in workers confined as anywhere else.

What it cannot show is anything of a real driver or GPU that nobody thought of when it was written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stand_in
from warpsmith.spec.bundled import bundled_names

HERE = Path(__file__).parent
# What only NVIDIA's own libraries tell.
SKIPPED = {"a checker sees a write past the end", "counters make sense", "readings make sense"}

DESCRIBED = """
from warpsmith.compile.pool import describe_device
from warpsmith.core.errors import WarpsmithError
try:
    print(describe_device("standin").description)
except WarpsmithError as error:
    print(error)
"""


def python(folder: Path, *command: str, **settings: object) -> str:
    environment = {**stand_in.environment(folder, **settings), "WARPSMITH_CLAIM_PROCESSES": "2"}
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("device", "more_skipped"), [("standin", set()), ("standin-hip", {"occupancy is the drivers"})])
def test_the_conformance_suite_passes(tmp_path: Path, device: str, more_skipped: set[str]) -> None:
    if "hip" in device:
        pytest.importorskip("rocm.bindings.hip", reason="needs hip-python")
    said = python(tmp_path, "-m", "warpsmith.testing.devices", device)
    verdicts = re.findall(r"^  (\w+) +(.*?) \([\d.]+ s\)", said, re.MULTILINE)
    assert len(verdicts) >= 16, said
    assert {name for verdict, name in verdicts if verdict != "ok"} <= SKIPPED | more_skipped, said


def test_bundled_kernels_are_right(tmp_path: Path) -> None:
    """A second opinion on all that else is tested on the CPU device alone: what runs here is what NVRTC compiled for a GPU."""
    said = python(tmp_path, str(HERE / "stand_in_kernels.py"), "1")
    counts = re.findall(r"^(\w+): (\d+) passed, (\d+) alike$", said, re.MULTILINE)
    assert {name for name, _, _ in counts} == {name for name in bundled_names() if "opencl" not in name}, said
    assert all(int(passed) and int(alike) for _, passed, alike in counts)


def test_what_kernels_can_say_means_the_same_on_both_devices(tmp_path: Path) -> None:
    said = python(tmp_path, str(HERE / "stand_in_language.py"), context_failures=1)
    outcomes = dict(re.findall(r"^(\w+): (.*)$", said, re.MULTILINE))
    assert len(outcomes) >= 8
    assert set(outcomes.values()) == {"equal"}, said


def test_a_hip_kernel_is_tuned(tmp_path: Path) -> None:
    """By the HIP runtime's calls, through AMD's own bindings; what is executed is NVRTC's PTX of the same source."""
    pytest.importorskip("rocm.bindings.hip", reason="needs hip-python")
    [found] = map(json.loads, python(tmp_path, str(HERE / "stand_in_tunes.py"), "standin-hip", "silu_and_mul_hip").splitlines())
    assert found["measured"] == 2
    assert found["verified"]


def test_a_timed_launch_that_nobody_looks_at_moves_no_buffer_over_the_bus(tmp_path: Path) -> None:
    found = json.loads(python(tmp_path, str(HERE / "stand_in_traffic.py")))
    assert found["right"] == [True] * 4, "made on the device or on the host: the inputs are those of the draw"
    calls, to, back = found["unseen, first"]
    assert to > 0, "what is counted here"
    calls, to, back = found["unseen, later"]
    assert (to, back) == (0, 0)
    assert calls <= 4 * 16, "a handful for each buffer that is filled, and for the launch"
    _, to, back = found["seen"]
    assert to == 0
    assert 0 < back <= found["arena"]


@pytest.mark.parametrize("settings", [{}, {"hidden": "bytes"}])
def test_a_timed_launch_finds_nothing_that_one_left_behind(tmp_path: Path, settings: dict[str, object]) -> None:
    """In shared memory, on stacks, in variables: set back by copies, or by loading again what hides one of them."""
    found = json.loads(python(tmp_path, str(HERE / "stand_in_leftovers.py"), memory_stays=1, **settings))
    for where in ("shared", "stack"):
        assert found[where]["as it is"] > 0, "a kernel that this test is about"
        assert found[where]["scrubbed"] == 0
    assert found["kept"] == [True] * 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"capability": 80}, "(sm_80)"),
        ({"uvm": "/dev/no-such-node"}, "the NVIDIA driver does not start: CUDA_ERROR_UNKNOWN"),
        ({"mps": "/dev/null"}, "Warpsmith Stand-In"),
        ({"driver": 12080}, "NVIDIA's driver is for CUDA 12.8"),
    ],
)
def test_what_is_said_of_a_driver(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    assert said in python(tmp_path, "-c", DESCRIBED, **settings)


def test_devices_are_listed_with_what_is_said_of_them(tmp_path: Path) -> None:
    told = python(tmp_path, "-m", "warpsmith", "devices", capability=80)
    assert "(sm_80)" in told
    assert "Warpsmith Stand-In" in told


def test_the_doctor_ends_in_a_launch(tmp_path: Path) -> None:
    found = json.loads(python(tmp_path, "-m", "warpsmith", "doctor", "--device", "standin", "--json"))
    assert found["works"]
    assert found["devices"][0]["launch"]["registers"] > 0
    assert "absent" not in {finding["state"] for finding in found["devices"][0]["findings"]}, "what launches is there"


def test_a_driver_that_does_not_start_is_no_absent_one(tmp_path: Path) -> None:
    environment = stand_in.environment(tmp_path, init_failures=99)
    command = [sys.executable, "-m", "warpsmith", "doctor", "--device", "standin", "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 3, done.stderr
    finding = json.loads(done.stdout)["devices"][0]["findings"][-1]
    assert (finding["what"], finding["state"]) == ("driver", "failed")
    assert "CUDA_ERROR_UNKNOWN" in finding["said"]
    assert finding["remedy"]


def test_a_driver_with_other_habits(tmp_path: Path) -> None:
    """It needs a second try, once for each thing; lacks what is not necessary; has little memory, and much to say."""
    once = dict.fromkeys(("init_failures", "context_failures", "launch_refusals", "prints", "forks"), 1)
    optional = "cuMemHostRegister,cuMemHostUnregister,cuMemcpyDtoDAsync,cuDeviceGetPCIBusId,cuGetErrorString"
    habits = {"lacks": optional, "not_told": "38,97", "memory_mib": 200, "shared_kib": 300 << 10, "multiprocessors": 24}
    [found] = map(
        json.loads, python(tmp_path, str(HERE / "stand_in_tunes.py"), "standin", "softmax", **once, **habits).splitlines()
    )
    assert found["measured"] == 2
    assert found["verified"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("misaligned", "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("beyond", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("shared", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("asserts", "CUDA_ERROR_ASSERT"),
        ("traps", "CUDA_ERROR_LAUNCH_FAILED"),
    ],
)
def test_a_fault_ends_the_context(tmp_path: Path, name: str, status: str) -> None:
    """It is said by the first call after it, at the latest by the one that waits for the kernel, and by every other from then on."""
    first, second = python(tmp_path, str(HERE / "stand_in_faults.py"), name).splitlines()
    assert re.match(rf"ContextLost: cuEvent(Record|Synchronize): {status}", first), first
    assert status in second


def test_every_bundled_kernel_is_tuned(tmp_path: Path) -> None:
    said = python(tmp_path, str(HERE / "stand_in_tunes.py"), "standin")
    results = {found["kernel"]: found for found in map(json.loads, said.splitlines())}
    assert results.keys() == {name for name in bundled_names() if "opencl" not in name}, said
    for found in results.values():
        assert found["measured"] == 2
        assert found["verified"]
        assert 0 < found["roofline"] <= 1.1, f"probes in CUDA C++ give a roof: {found}"
