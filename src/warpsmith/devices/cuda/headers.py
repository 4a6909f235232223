"""Locates CUDA's headers: in the wheels of `warpsmith[cuda]`, else in an installed toolkit; the standard library's are ours."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._wheels import wheel_file
from warpsmith.devices.cuda.nvrtc import HINT

INCLUDE = Path(__file__).parent / "include"

_RUNTIME = "nvidia-cuda-runtime"
_LIBRARIES = "nvidia-cuda-cccl"


@cache
def header_folders() -> tuple[Path, ...]:
    """In search order. Of one release only: a toolkit's headers are never mixed with those of the wheels."""
    runtime = wheel_file(_RUNTIME, "cuda_runtime.h")
    folder = runtime.parent if runtime is not None else _toolkit_folder()
    if folder is None:
        raise UnavailableError(f"no CUDA headers: neither the wheel {_RUNTIME} nor a toolkit is installed", hint=HINT)
    libraries = folder / "cccl"  # libcu++, cub, thrust: since CUDA 13 in a folder of their own
    return (folder, libraries, INCLUDE) if libraries.is_dir() else (folder, INCLUDE)


def version() -> str:
    """Version of the headers: the wheels' own, else the toolkit's folder."""
    found = [_installed_version(name) for name in (_RUNTIME, _LIBRARIES)]
    return " ".join(text for text in found if text) or str(header_folders()[0])


def _installed_version(wheel: str) -> str | None:
    try:
        return metadata.version(wheel)
    except metadata.PackageNotFoundError:
        return None


def _toolkit_folder() -> Path | None:
    """The toolkit of CUDA_HOME, conda or the system, as NVIDIA's own finder locates it."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        return None
    found = find_nvidia_header_directory("cudart")
    return Path(found) if found else None
