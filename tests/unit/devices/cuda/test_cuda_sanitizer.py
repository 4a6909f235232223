"""compute-sanitizer's report, in the format that its manual shows, and its absence."""

from __future__ import annotations

import shutil
import sys

import pytest

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import CheckReport
from warpsmith.devices.cuda import CudaDevice, sanitizer

WRITE = """\
========= COMPUTE-SANITIZER
what the program itself says
========= Invalid __global__ write of size 4 bytes
=========     at twice(float *, int)+0x90 in twice.cu:4
=========     by thread (31,0,0) in block (78,0,0)
=========     Address 0x7f2c4ca09c5c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2c4ca00000 of size 40,028 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0xae66] in python
=========
========= ERROR SUMMARY: 1 error
"""
RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at total(int *)+0x90 in total.cu:7
=========     and Read access at total(int *)+0x100 in total.cu:9 [508 hazards]
=========
========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :
=========     Write Thread (0,0,0) at 0x90 in total.cu:7
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NOT_STARTED = """\
========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
"""
PART = """\
========= COMPUTE-SANITIZER
========= Internal Sanitizer Error: The Sanitizer encountered an error while launching twice and didn't track the launch.
========= ERROR SUMMARY: 0 errors
"""


def test_a_problem_is_told_with_its_place_thread_and_address() -> None:
    [problem] = sanitizer.read_report(WRITE).problems
    assert problem.split("; ") == [
        "Invalid __global__ write of size 4 bytes",
        "at twice(float *, int)+0x90 in twice.cu:4",
        "by thread (31,0,0) in block (78,0,0)",
        "Address 0x7f2c4ca09c5c is out of bounds",
        "and is 1 bytes after the nearest allocation at 0x7f2c4ca00000 of size 40,028 bytes",
    ]


def test_races_are_problems_and_warnings_are_not() -> None:
    [problem] = sanitizer.read_report(RACE).problems
    assert problem.startswith("Race reported between Write access at total(int *)+0x90")


def test_only_a_whole_report_is_an_all_clear() -> None:
    assert sanitizer.read_report(CLEAN) == CheckReport()
    assert sanitizer.read_report("").failure == "compute-sanitizer left no summary"
    assert "terminated before first instrumented" in (sanitizer.read_report(NOT_STARTED).failure or "")
    assert "didn't track the launch" in (sanitizer.read_report(PART).failure or "")


def test_where_it_is_not_installed_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(UnavailableError, match="compute-sanitizer is not installed") as caught:
        CudaDevice("sm_90").check_command("memcheck")
    assert "nvidia-cuda-sanitizer-api" in (caught.value.hint or "")
