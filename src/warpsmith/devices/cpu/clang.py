"""Owns the calls of clang: CUDA or HIP text → LLVM IR → SPIR-V, and preprocessing. What its messages mean: `diagnostics`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Language
from warpsmith.devices._clruntime.loader import wheel_file

INCLUDE = Path(__file__).parent / "include"
PRELUDE = "warpsmith/prelude.h"
WHEEL = "ziglang"

_TARGET = ("-triple", "spirv64-unknown-unknown")
# The runtime optimises, not clang: after clang's -O2 the index arithmetic hides unit strides and loads become gathers. But -O2 must be
# said, or every function carries `noinline optnone`, which the runtime obeys. Without lifetime markers a return has no clean-up blocks.
_FRONTEND = ("-O2", "-disable-llvm-passes", "-disable-lifetime-markers", "-debug-info-kind=line-tables-only", "-ferror-limit", "0", "-w")
# Only what kernels need: the whole list ("all") includes extensions that the runtime refuses. Without the no-wrap decorations the runtime
# cannot tell that a[i + 1] has unit stride and gathers (2 gathers, 181 instructions against none and 44 for a three-point stencil).
_SPIRV_EXTENSIONS = "--spirv-ext=+SPV_KHR_expect_assume,+SPV_KHR_bit_instructions,+SPV_KHR_no_integer_wrap_decoration"


@dataclass(frozen=True, slots=True)
class ClangResult:
    output: bytes
    log: str
    succeeded: bool


@cache
def clang_binary() -> Path:
    """The compiler inside the wheel. Called directly: its Python launcher would cost another interpreter start."""
    path = wheel_file(WHEEL, "zig")
    if path is None:
        raise UnavailableError(f"no clang: the wheel {WHEEL} is not installed", hint=f"pip install {WHEEL}")
    return path


def clang_version() -> str:
    return metadata.version(WHEEL)


@cache
def prelude_flags() -> tuple[str, ...]:
    """The flags that the prelude's headers need, one a line in `include/flags.txt`."""
    zig_lib = clang_binary().parent / "lib"
    lines = (line.strip() for line in (INCLUDE / "flags.txt").read_text(encoding="utf-8").splitlines())
    return tuple(line.format(zig_lib=zig_lib, include=INCLUDE) for line in lines if line and not line.startswith("#"))


def to_ir(text: str, language: Language, flags: Sequence[str], include_dirs: Sequence[Path]) -> ClangResult:
    """Unoptimised LLVM IR, as text. `flags` are macros that the prelude looks at; without any it comes precompiled."""
    options = [*_language_flags(language), *_folders(include_dirs), *flags]
    if flags:
        return _run(text.encode(), ("-emit-llvm", *_FRONTEND, *options, "-include", PRELUDE))
    prelude = _precompiled_prelude(language)
    return _run(text.encode(), ("-emit-llvm", *_FRONTEND, *options, "-include-pch", f"/proc/self/fd/{prelude}"), (prelude,))


def preprocessed(text: str, language: Language, include_dirs: Sequence[Path]) -> ClangResult:
    """The text after preprocessing, with line markers."""
    prelude = () if language is Language.OPENCL else ("-include", PRELUDE)
    return _run(text.encode(), ("-E", *_language_flags(language), *_folders(include_dirs), *prelude))


@cache
def _precompiled_prelude(language: Language) -> int:
    """An open file in memory with the parsed prelude: parsing it anew takes most of a small kernel's compile time."""
    result = _run(f'#include "{PRELUDE}"\n'.encode(), ("-emit-pch", *_FRONTEND, *_language_flags(language)))
    if not result.succeeded:
        raise UnavailableError(f"the prelude does not compile: {result.log[:2000]}", hint="reinstall warpsmith and ziglang")
    file = os.memfd_create("warpsmith-prelude")
    with open(file, "wb", closefd=False) as stream:  # noqa: PTH123 - a descriptor has no path
        stream.write(result.output)
    return file


def inlined(ir: str) -> ClangResult:
    """IR with the functions marked `alwaysinline` inlined, otherwise as it was."""
    return _run(ir.encode(), ("-x", "ir", "-emit-llvm", "-O0"))


def to_spirv(ir: str) -> ClangResult:
    return _run(ir.encode(), ("-x", "ir", "-emit-obj", "-O2", "-disable-llvm-passes", "-mllvm", _SPIRV_EXTENSIONS))


def _folders(include_dirs: Sequence[Path]) -> list[str]:
    return [flag for folder in include_dirs for flag in ("-I", str(folder))]


def _language_flags(language: Language) -> list[str]:
    if language is Language.OPENCL:
        return ["-x", "cl", "-cl-std=CL3.0"]
    hip = language is Language.HIP
    dialect = ["-x", "hip", "-DWARPSMITH_HIP=1"] if hip else ["-x", "cuda"]
    return [*dialect, "-fcuda-is-device", "-std=gnu++20", "-fdeclspec", "-isystem", str(INCLUDE), *prelude_flags()]


def _run(text: bytes, flags: Sequence[str], files: tuple[int, ...] = ()) -> ClangResult:
    command = [str(clang_binary()), "clang", "-cc1", *_TARGET, *flags, "-o", "-", "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=False, pass_fds=files)
    return ClangResult(done.stdout, done.stderr.decode(errors="replace"), done.returncode == 0)
