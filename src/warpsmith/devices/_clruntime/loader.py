"""Selects the OpenCL runtime of the process. All other modules get `pyopencl` from here instead of importing it.

The ICD loader inside pyopencl's wheel reads `OCL_ICD_VENDORS` once, at the first call, so the choice must come before that.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._wheels import wheel_file

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
WHEEL = "intel-opencl-rt"
WHEEL_LIBRARY = "libintelocl.so"
_WORKERS = "CL_CONFIG_CPU_TBB_NUM_WORKERS"


def cpu_runtime_library() -> Path | None:
    return wheel_file(WHEEL, WHEEL_LIBRARY)


def import_pyopencl() -> Any:
    """Pyopencl without its own disk cache: caching is the compile stage's task."""
    os.environ["PYOPENCL_NO_CACHE"] = "1"
    try:
        import pyopencl  # noqa: PLC0415 - takes 0.2 s and is needed only where kernels are built or run
    except ImportError as error:
        raise UnavailableError(f"pyopencl cannot be imported: {error}", hint="pip install pyopencl") from error
    return pyopencl


def load_cpu_runtime(compute_units: int | None = None) -> Any:
    """Pyopencl with the wheel's CPU runtime as its platform."""
    library = cpu_runtime_library()
    if library is None:
        raise _no_cpu_runtime()
    os.environ["OCL_ICD_VENDORS"] = str(library)
    if compute_units is not None and "pyopencl" in sys.modules and os.environ.get(_WORKERS) != str(compute_units):
        raise UnavailableError(
            f"the OpenCL runtime of this process cannot be limited to {compute_units} compute units any more",
            hint="open the device in a process of its own, before anything else uses it there",
        )
    if compute_units is not None:
        # Read when the runtime creates its thread pool; later changes have no effect. (With DPCPP_CPU_NUM_CUS=1 a second thread
        # still got a fifth of the work.)
        os.environ[_WORKERS] = str(compute_units)
    return import_pyopencl()


def _no_cpu_runtime() -> UnavailableError:
    """No package provides another runtime that accepts SPIR-V: PoCL's wheel is for x86-64 too, and accepts only OpenCL C."""
    if has_cpu_runtime():
        hint = f"pip install {WHEEL} intel-cmplr-lib-rt tbb"
        return UnavailableError(f"no OpenCL CPU runtime: the wheel {WHEEL} is not installed", hint=hint)
    system = platform.system()
    what = f"the cpu device needs Intel's OpenCL runtime, which exists for Linux on x86-64 only; this is {system}"
    where = "here" if system == "Linux" else "in a Linux container"
    hint = f"commands without launches work {where}: init, extract, check, analyze --target, replay, Study"
    return UnavailableError(f"{what} on {platform.machine()}", hint=hint)


def has_cpu_runtime() -> bool:
    """Whether a wheel provides one for this machine."""
    return (platform.system(), platform.machine()) == ("Linux", "x86_64")


def load_any_runtime() -> Any:
    """Pyopencl with the system's platforms; the wheel's CPU runtime if the system has none."""
    if "OCL_ICD_VENDORS" not in os.environ and not any(SYSTEM_VENDORS.glob("*.icd")):
        library = cpu_runtime_library()
        if library is not None:
            os.environ["OCL_ICD_VENDORS"] = str(library)
    return import_pyopencl()


def platforms(cl: Any) -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.LogicError:  # PLATFORM_NOT_FOUND is how a loader says "none"
        return []
