"""Owns the calls of clang: CUDA or HIP text → LLVM IR → SPIR-V, and preprocessing. What its messages mean: `diagnostics`."""

from __future__ import annotations

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
    """Unoptimised LLVM IR, as text."""
    return _run(text.encode(), ("-emit-llvm", *_FRONTEND, *_source_flags(language, flags, include_dirs)))


def preprocessed(text: str, language: Language, flags: Sequence[str], include_dirs: Sequence[Path]) -> ClangResult:
    """The text after preprocessing, with line markers."""
    return _run(text.encode(), ("-E", *_source_flags(language, flags, include_dirs)))


def inlined(ir: str) -> ClangResult:
    """IR with the functions marked `alwaysinline` inlined, otherwise as it was."""
    return _run(ir.encode(), ("-x", "ir", "-emit-llvm", "-O0"))


def to_spirv(ir: str) -> ClangResult:
    return _run(ir.encode(), ("-x", "ir", "-emit-obj", "-O2", "-disable-llvm-passes", "-mllvm", _SPIRV_EXTENSIONS))


def _source_flags(language: Language, flags: Sequence[str], include_dirs: Sequence[Path]) -> list[str]:
    folders = [flag for folder in include_dirs for flag in ("-I", str(folder))]
    if language is Language.OPENCL:
        return ["-x", "cl", "-cl-std=CL3.0", *folders, *flags]
    return [
        "-x",
        "hip" if language is Language.HIP else "cuda",
        *(("-DWARPSMITH_HIP=1",) if language is Language.HIP else ()),
        "-fcuda-is-device",
        "-std=gnu++20",
        "-fdeclspec",
        "-include",
        PRELUDE,
        *folders,
        "-isystem",
        str(INCLUDE),
        *prelude_flags(),
        *flags,
    ]


def _run(text: bytes, flags: Sequence[str]) -> ClangResult:
    command = [str(clang_binary()), "clang", "-cc1", *_TARGET, *flags, "-o", "-", "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    return ClangResult(done.stdout, done.stderr.decode(errors="replace"), done.returncode == 0)
