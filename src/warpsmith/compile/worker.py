"""The compile worker: `python -m warpsmith.compile.worker`. Owns turning a device's exceptions into values."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from warpsmith.compile.jobs import Compile, Describe, MachineCode, Preprocess
from warpsmith.core.errors import InputError, UnavailableError, UnsupportedFeature
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import CompileError, Device, HasMachineCode
from warpsmith.devices.registry import load_device
from warpsmith.isolation.serving import serve

UNSUPPORTED = "unsupported: "

Blobs: TypeAlias = tuple[bytes, ...]
Answer: TypeAlias = tuple[Any, Sequence[bytes]]

_device = cache(load_device)


def _describe(job: Describe, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, job.cores)
    try:
        return _device(job.device).describe(), ()
    finally:
        for thread in Path("/proc/self/task").iterdir():  # a runtime that was loaded meanwhile has threads of its own
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), own)


def _compile(job: Compile, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    device: Device = _device(job.device)
    try:
        binary = device.compile(job.request)
    except UnsupportedFeature as error:
        at = f"{error.location}: " if error.location else ""
        return CompileFailed(f"{UNSUPPORTED}{at}{error.message}", error.hint or ""), ()
    except CompileError as error:
        return CompileFailed(_explained(error.reason), error.log), ()
    return replace(binary, code=b""), (binary.code,)


def _preprocess(job: Preprocess, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    try:
        return _device(job.device).preprocess(job.request), ()
    except CompileError as error:
        raise InputError(_explained(error.reason), hint=error.log or None) from error


def _machine_code(job: MachineCode, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    device = _device(job.device)
    if not isinstance(device, HasMachineCode):
        return None, ()
    try:
        return device.machine_code(device.compile(job.request)), ()
    except (CompileError, UnsupportedFeature, UnavailableError, ValueError):  # no disassembler, or code that it does not know
        return None, ()


def _explained(reason: str) -> str:
    """Compilers do not know that this worker is confined."""
    if "Permission denied" not in reason:
        return reason
    return f"{reason}; hint: only the kernel's folder and its include_dirs can be read, and no hidden files"


if __name__ == "__main__":
    serve({Describe: _describe, Compile: _compile, MachineCode: _machine_code, Preprocess: _preprocess})
