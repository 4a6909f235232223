"""What is known against a launch before it is tried: the limit and the two numbers."""

from __future__ import annotations

import pytest

from warpsmith.analysis.inspection import launch_problem, occupancy_of
from warpsmith.core.hardware import Geometry, Limits, Resources
from warpsmith.devices.registry import load_device

LIMITS = Limits(1024, 1024, 1024, 64, 48_000, 32, 4)


@pytest.mark.parametrize(
    ("device", "used", "threads", "dynamic_bytes", "problem"),
    [
        ("cuda:sm_90", Resources(registers=32), 1024, 0, None),
        ("cuda:sm_90", Resources(registers=128), 1024, 0, "128 registers in 1024 threads do not fit into the 65536 of a"),
        ("cuda:sm_90", Resources(registers=32, max_threads=128), 256, 0, "256 threads exceed the 128 that the compiled kernel"),
        (
            "cuda:sm_86",
            Resources(registers=32, shared_bytes=1_000),
            64,
            101_000,
            "102000 bytes of shared memory exceed the 101376",
        ),
        ("hip:gfx942", Resources(registers=32, shared_bytes=65_537), 64, 0, "65537 bytes of shared memory exceed the 65536"),
        ("cpu", Resources(shared_bytes=48_000), 64, 48_000, None),
        ("cpu", Resources(shared_bytes=48_001), 64, 0, "48001 bytes of shared memory exceed the 48000 of a block"),
        ("opencl", Resources(max_threads=7424), 8192, 0, "8192 threads exceed the 7424 that the compiled kernel allows"),
    ],
)
def test_the_limit_and_the_two_numbers(device: str, used: Resources, threads: int, dynamic_bytes: int, problem: str | None):
    geometry = Geometry((1, 1, 1), (threads, 1, 1), dynamic_bytes)
    found = launch_problem(LIMITS, used, geometry, occupancy_of(load_device(device), used, geometry))
    assert found is None if problem is None else (found or "").startswith(problem)
