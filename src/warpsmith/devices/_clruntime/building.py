"""Builds OpenCL programs and reads the runtime's resource figures: u(theta; h) of a kernel."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

from warpsmith.core.hardware import Resources

NOT_OPTIMISED = "-cl-opt-disable"

_VECTORIZED = re.compile(r'^Kernel "(?P<kernel>[^"]+)" was (?:successfully vectorized \((?P<width>\d+)\)|not vectorized)')
_ACCESS = re.compile(r"-way vectorized(?:(?P<gathers>\d+) gathers)?(?:(?P<scatters>\d+) scatters)?")
_INSTRUCTIONS = re.compile(r"(\d+) instructions in function")


class BuildError(Exception):
    """The runtime refused the program; the text is its log."""


def build(cl: Any, program: Any, options: Sequence[str]) -> Any:
    """The built program. Its log is read by `resources`, so pyopencl's warning about it is suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        try:
            return program.build(options=list(options))
        except cl.Error as error:
            # pyopencl puts the log after its own message.
            raise BuildError(str(error).split(":\n\n", 1)[-1].split("\n(options:")[0].strip()) from error


def resources(cl: Any, program: Any, kernel: Any, device: Any) -> Resources:
    """Figures from the build log and the kernel. Helper kernels in the same program are small, hence the maxima."""
    log = program.get_build_info(device, cl.program_build_info.LOG)
    name = kernel.function_name
    facts = cl.kernel_work_group_info
    width = None
    remarks: list[str] = []
    for line in log.splitlines():
        match = _VECTORIZED.match(line)
        if match and match["kernel"] == name:
            width = int(match["width"] or 1)
    accesses = list(_ACCESS.finditer(log))
    gathers = max((int(match["gathers"] or 0) for match in accesses), default=None)
    scatters = max((int(match["scatters"] or 0) for match in accesses), default=None)
    if width is not None:
        remarks.append(f"vectorized {width} wide" if width > 1 else "not vectorized")
    private_bytes = int(kernel.get_work_group_info(facts.PRIVATE_MEM_SIZE, device))
    if private_bytes:
        remarks.append(f"{private_bytes} bytes of private memory a work-item")
    return Resources(
        shared_bytes=int(kernel.get_work_group_info(facts.LOCAL_MEM_SIZE, device)),
        vector_width=width,
        gathers=gathers,
        scatters=scatters,
        instructions=max((int(count) for count in _INSTRUCTIONS.findall(log)), default=None),
        max_threads=int(kernel.get_work_group_info(facts.WORK_GROUP_SIZE, device)),
        remarks=tuple(remarks),
    )
