"""The stand-in driver of `tests/standin`: built once for each version of its source, and the environment in which it is found."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices._wheels import wheel_file

SOURCE = Path(__file__).parent / "standin"
PLUGIN = SOURCE / "plugin"
_OCCUPANCY = wheel_file("nvidia-cuda-runtime", "cuda_occupancy.h")
_FLAGS = (
    "-std=c++23", "-O2", "-march=native", "-fwrapv", "-w", "-s",
    "-shared", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-nostdlib++", "-Wl,-soname,libcuda.so.1",
)  # fmt: skip


def library() -> Path:
    files = sorted(SOURCE.glob("*.[ch]*"))
    key = fingerprint(*(file.read_bytes() for file in files), *_FLAGS, str(_OCCUPANCY))[:16]
    built = Path(tempfile.gettempdir()) / f"warpsmith-standin-{os.getuid()}-{key}.so"
    if not built.exists():
        assert _OCCUPANCY is not None, "the tests need the wheel nvidia-cuda-runtime"
        with tempfile.TemporaryDirectory(prefix="warpsmith-standin-", dir=built.parent) as folder:
            found = Path(folder) / "libcuda.so.1"
            sources = [str(file) for file in files if file.suffix == ".cpp"]
            flags = [*_FLAGS, f"-I{_OCCUPANCY.parent}", "-o", str(found)]
            command = [str(clang_binary()), "c++", *flags, *sources, "-lm", "-lpthread"]
            caches = dict.fromkeys(("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR"), str(Path(folder) / "zig"))
            subprocess.run(command, check=True, env={**os.environ, **caches})
            found.rename(built)
    return built


def environment(folder: Path, **settings: object) -> dict[str, str]:
    """For processes that shall see the stand-in as their driver, and the device `standin`; records go into the folder, too."""
    place = folder / "driver"
    place.mkdir(exist_ok=True)
    for name in ("libcuda.so.1", "libamdhip64.so"):
        shutil.copy(library(), place / name)
    if importlib.util.find_spec("hip") is not None:
        (place / "properties").write_bytes(_properties())
    (place / "standin.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    added = {"LD_LIBRARY_PATH": str(place), "PYTHONPATH": str(PLUGIN), "WARPSMITH_HOME": str(folder / "home")}
    return {**os.environ, **added}


def _properties() -> bytes:
    """What the HIP runtime tells of the pretended GPU, in the layout of the bindings."""
    from hip import hip

    numbers = {
        "warpSize": 32, "multiProcessorCount": 8, "l2CacheSize": 0, "sharedMemPerBlock": 65536, "maxThreadsPerBlock": 1024,
        "pciBusID": 3,
    }  # fmt: skip
    properties = hip.hipDeviceProp_t()
    for name, value in numbers.items():
        setattr(properties, name, value)
    memory = (ctypes.c_char * properties.c_sizeof()).from_address(int(properties))
    written = bytearray(memory.raw)
    fields = {"name": b"Warpsmith Stand-In", "gcnArchName": b"gfx1100", "maxThreadsDim": struct.pack("3i", *[1024] * 3)}
    for name, value in {**fields, "maxGridSize": struct.pack("3i", *[2**31 - 1] * 3)}.items():
        place = _place(memory, lambda name=name: any(getattr(properties, name) or ()))
        written[place : place + len(value)] = value
    return bytes(written)


def _place(memory: ctypes.Array[ctypes.c_char], is_there: Callable[[], bool]) -> int:
    """Where a field that cannot be set begins: the first byte that shows in it."""
    for place in range(len(memory)):
        before, memory[place] = memory[place], b"1"
        found = is_there()
        memory[place] = before
        if found:
            return place
    raise AssertionError("the bindings have no such field")
