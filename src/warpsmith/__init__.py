"""Warpsmith: tunes GPU kernels; every candidate verified, every claim measured with its uncertainty.

The names of `warpsmith.api` are available here; they are loaded when first used, so that importing stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpsmith.api import (
        Budget,
        KernelStudy,
        Study,
        describe_device,
        list_devices,
        list_runs,
        load_kernel,
        resume,
        show_run,
        tune,
    )

__all__ = [
    "Budget",
    "KernelStudy",
    "Study",
    "describe_device",
    "list_devices",
    "list_runs",
    "load_kernel",
    "resume",
    "show_run",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'warpsmith' has no attribute {name!r}")
    from warpsmith import api  # noqa: PLC0415

    return getattr(api, name)
