"""Locates clang and runs its compiler proper (`cc1`) over text. Callers provide the flags."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._wheels import wheel_file
from warpsmith.isolation.serving import ChildKilled

WHEEL = "ziglang"


@dataclass(frozen=True, slots=True)
class ClangResult:
    output: bytes
    log: str
    succeeded: bool


@cache
def clang_binary() -> Path:
    """The compiler inside the wheel. Called directly: its Python launcher would start another interpreter."""
    path = wheel_file(WHEEL, "zig")
    if path is None:
        raise UnavailableError(f"no clang: the wheel {WHEEL} is not installed", hint=f"pip install {WHEEL}")
    return path


def wheel_versions() -> dict[str, str]:
    """By the wheel's name: its version number is not clang's."""
    return {WHEEL: metadata.version(WHEEL)}


def unnamed_file(content: bytes) -> int:
    """A descriptor of an anonymous file for the compiler to read, made where the worker may write: it may not create memfd
    files.
    """
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return os.dup(file.fileno())


def run_clang(text: bytes, flags: Sequence[str], files: tuple[int, ...] = ()) -> ClangResult:
    """One run from standard input to standard output; `files` are descriptors that the compiler may read. Only in a worker."""
    command = [str(clang_binary()), "clang", "-cc1", *flags, "-o", "-", "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=False, pass_fds=files)
    if done.returncode == -signal.SIGKILL:  # the system, for want of memory; a source cannot do that
        raise ChildKilled
    return ClangResult(done.stdout, done.stderr.decode(errors="replace"), done.returncode == 0)
