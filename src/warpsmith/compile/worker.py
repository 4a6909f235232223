"""The compile worker: `python -m warpsmith.compile.worker`. Converts a device's exceptions into values."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from warpsmith.compile.jobs import Compile, Count, Describe, Instructions, MachineCode, Preprocess
from warpsmith.core.counted import NeedsInput
from warpsmith.core.errors import InputError, UnavailableError, UnsupportedFeature
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import CompileError, CountsUnlaunched, Device, Disassembles, HasMachineCode
from warpsmith.devices.registry import load_device
from warpsmith.isolation.serving import serve
from warpsmith.refactor.allowed import require_allowed

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
    problem = _beyond_the_original(job)
    return (replace(binary, code=b""), (binary.code,)) if problem is None else (problem, ())


def _beyond_the_original(job: Compile) -> CompileFailed | None:
    """Why a compiled source by another author exceeds the original; None if it does not."""
    request = job.request
    if request.held_to is None:
        return None
    folders = (request.source_file.parent, *request.include_dirs)
    try:
        require_allowed(
            request.source,
            request.held_to,
            request.language,
            defines=request.defines,
            folders=folders,
            clang_knows_all=job.device == "cpu" and request.language is not Language.OPENCL,
        )
    except InputError as error:
        return CompileFailed(error.message, error.hint or "")
    return None


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


def _instructions(job: Instructions, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    device = _device(job.device)
    if not isinstance(device, Disassembles):
        return "this device does not show its machine code", ()
    try:
        return device.instructions(device.compile(job.request)), ()
    except (CompileError, UnsupportedFeature) as error:
        return f"it does not compile: {error}", ()
    except (UnavailableError, ValueError, subprocess.TimeoutExpired) as error:
        return f"the machine code is unavailable: {error}", ()


class _Asked(Exception):  # noqa: N818 - a way out, not an error
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _count(job: Count, blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    device = _device(job.device)
    if not isinstance(device, CountsUnlaunched):
        raise UnsupportedFeature(
            f"the {job.device} device cannot count a launch without the hardware", hint="NVIDIA's can: sm_80"
        )
    code, *rest = blobs
    constants = dict(zip(job.constants, rest, strict=False))
    inputs = dict(zip(job.inputs, rest[len(constants) :], strict=True))

    def contents(name: str) -> bytes:
        if name not in inputs:
            raise _Asked(name)
        return inputs[name]

    try:
        return device.count(replace(job.binary, code=code), job.geometry, job.arguments, constants, contents), ()
    except _Asked as asked:
        return NeedsInput(asked.name), ()


def _explained(reason: str) -> str:
    """Adds a hint, because compilers do not know that this worker is confined."""
    if "Permission denied" not in reason:
        return reason
    return f"{reason}; hint: only the kernel's folder and its include_dirs can be read, and no hidden files"


if __name__ == "__main__":
    serve(
        {
            Describe: _describe,
            Compile: _compile,
            MachineCode: _machine_code,
            Instructions: _instructions,
            Count: _count,
            Preprocess: _preprocess,
        }
    )
