"""Calls of clang: CUDA or HIP text → LLVM IR → SPIR-V, preprocessing, and front-end output (tokens, syntax tree, macros).

`diagnostics` interprets its messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Language
from warpsmith.devices._clang.binary import ClangResult, clang_binary, run_clang, unnamed_file
from warpsmith.devices._clang.preprocess import NEUTRAL_PLACES

INCLUDE = Path(__file__).parent / "include"
PRELUDE = "warpsmith/prelude.h"
OPENCL_PRELUDE = "warpsmith/opencl.h"

_TARGET = ("-triple", "spirv64-unknown-unknown")
_OPENCL = ("-x", "cl", "-cl-std=CL3.0", "-fdeclare-opencl-builtins", "-isystem", str(INCLUDE))
# The runtime optimises, not clang: after clang's -O2 the index arithmetic hides unit strides and loads become gathers. But -O2
# must be given, or every function carries `noinline optnone`, which the runtime obeys. Without lifetime markers a return needs
# no clean-up blocks.
_FRONTEND = (
    "-O2",
    "-disable-llvm-passes",
    "-disable-lifetime-markers",
    "-debug-info-kind=line-tables-only",
    "-ferror-limit",
    "0",
    "-w",
)
# Only the extensions that kernels need: "all" includes some that the runtime refuses. Without the no-wrap decorations the
# runtime cannot infer that a[i + 1] has unit stride: a small stencil has 2 gathers and 181 instructions, against none and 44.
_SPIRV_EXTENSIONS = (
    "--spirv-ext=+SPV_KHR_expect_assume,+SPV_KHR_bit_instructions,+SPV_KHR_no_integer_wrap_decoration,+SPV_KHR_shader_clock"
)
# Prelude headers that take 40 to 100 ms to parse, where the rest of a kernel takes 60.
_HEAVY = ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "hip/hip_fp16.h", "hip/hip_bf16.h", "algorithm")
_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(if|ifdef|ifndef|endif|include)\b[ \t]*[<"]?([^>"\n]*)', re.MULTILINE)


@cache
def prelude_flags() -> tuple[str, ...]:
    """The flags that the prelude's headers need, one a line in `include/flags.txt`."""
    zig_lib = clang_binary().parent / "lib"
    lines = (line.strip() for line in (INCLUDE / "flags.txt").read_text(encoding="utf-8").splitlines())
    return tuple(line.format(zig_lib=zig_lib, include=INCLUDE) for line in lines if line and not line.startswith("#"))


def to_ir(
    text: str, language: Language, flags: Sequence[str], include_dirs: Sequence[Path], headers: Mapping[str, str] | None = None
) -> ClangResult:
    """Unoptimised LLVM IR, as text. `flags` are macros that the prelude reads; without any it is precompiled."""
    options = ("-emit-llvm", *_FRONTEND, *_language_flags(language), *_folders(include_dirs), *flags)
    with _replacing(headers or {}) as (replaced, files):
        if flags:
            return run_clang(text.encode(), (*options, "-include", PRELUDE, *replaced), files)
        heavy = precompiled_headers(text, include_dirs) if not headers else ()
        result = _with_precompiled(text, (*options, *replaced), language, heavy, files)
        # A source may conflict with a header before including it; the errors must be those of clang without precompilation.
        return result if result.succeeded or not heavy else _with_precompiled(text, (*options, *replaced), language, (), files)


def precompiled_headers(text: str, include_dirs: Sequence[Path]) -> tuple[str, ...]:
    """Those of `_HEAVY` that the text includes whatever its macros are, and that no user folder also provides."""
    depth = 0
    found: set[str] = set()
    for word, header in _DIRECTIVE.findall(text):
        depth += (word != "include") - 2 * (word == "endif")
        if word == "include" and depth == 0 and header in _HEAVY:
            found.add(header)
    return tuple(
        header for header in _HEAVY if header in found and not any((folder / header).is_file() for folder in include_dirs)
    )


def _with_precompiled(
    text: str, options: Sequence[str], language: Language, heavy: tuple[str, ...], files: tuple[int, ...]
) -> ClangResult:
    prelude = _precompiled_prelude(language, heavy)
    return run_clang(text.encode(), (*options, "-include-pch", f"/proc/self/fd/{prelude}"), (*files, prelude))


def opencl_to_ir(text: str, include_dirs: Sequence[Path]) -> ClangResult:
    """Unoptimised LLVM IR of OpenCL C, as text."""
    dialect = (*_TARGET, *_OPENCL, "-include", OPENCL_PRELUDE)
    return run_clang(text.encode(), ("-emit-llvm", *_FRONTEND, *dialect, *_folders(include_dirs)))


def raw_tokens(text: str) -> ClangResult:
    """All tokens of the text from clang's lexer, preprocessed or not, one per line of the log."""
    return run_clang(text.encode(), ("-dump-raw-tokens", "-x", "cuda", "-std=gnu++20"))


def syntax_tree(text: str, language: Language, include_dirs: Sequence[Path]) -> ClangResult:
    """The text's declarations for host and device as JSON: without the prelude, and as far as clang got."""
    options = ("-ast-dump=json", "-ferror-limit", "0", "-fno-caret-diagnostics", "-w", *_folders(include_dirs))
    if language is Language.OPENCL:
        return run_clang(text.encode(), (*options, *_TARGET, *_OPENCL, "-include", OPENCL_PRELUDE))
    prelude = _precompiled_prelude(language, precompiled_headers(text, include_dirs), for_host=True)
    options = (*options, *_language_flags(language, for_host=True), "-include-pch", f"/proc/self/fd/{prelude}")
    return run_clang(text.encode(), options, (prelude,))


def defined_macros(language: Language) -> ClangResult:
    """`#define` lines of everything predefined for a source by the compiler or by the prelude."""
    if language is Language.OPENCL:
        return run_clang(b"", ("-E", "-dM", *_TARGET, *_OPENCL, "-include", OPENCL_PRELUDE))
    return run_clang(b"", ("-E", "-dM", *_language_flags(language), "-include", PRELUDE))


def preprocessed(
    text: str, language: Language, include_dirs: Sequence[Path], headers: Mapping[str, str] | None = None
) -> ClangResult:
    """The preprocessed text with line markers: for its tokens, which carry no positions."""
    with _replacing(headers or {}) as (replaced, files):
        options = (*_language_flags(language), *_folders(include_dirs), "-include", PRELUDE, *replaced)
        return run_clang(text.encode(), ("-E", *NEUTRAL_PLACES, *options), files)


@contextmanager
def _replacing(headers: Mapping[str, str]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Flags and open files that replace the text of these headers; clang still reports their own names."""
    flags: list[str] = []
    files: list[int] = []
    try:
        for path, text in headers.items():
            files.append(unnamed_file(text.encode()))
            flags += ["-remap-file", f"{path};/proc/self/fd/{files[-1]}"]
        yield flags, tuple(files)
    finally:
        for file in files:
            os.close(file)


@cache
def _precompiled_prelude(language: Language, heavy: tuple[str, ...], *, for_host: bool = False) -> int:
    """An open file with the parsed prelude: parsing it takes most of a small kernel's compile time."""
    text = "".join(f"#include <{header}>\n" for header in (PRELUDE, *heavy))
    how = ("-w",) if for_host else _FRONTEND
    result = run_clang(text.encode(), ("-emit-pch", *how, *_language_flags(language, for_host=for_host)))
    if not result.succeeded:
        raise UnavailableError(f"the prelude does not compile: {result.log[:2000]}", hint="reinstall warpsmith and ziglang")
    return unnamed_file(result.output)


def inlined(ir: str) -> ClangResult:
    """IR with functions marked `alwaysinline` inlined, otherwise unchanged."""
    return run_clang(ir.encode(), (*_TARGET, "-x", "ir", "-emit-llvm", "-O0"))


def to_spirv(ir: str, *, wide_integers: bool = False, library: int | None = None) -> ClangResult:
    """`wide_integers`: it has 128-bit integers. `library`: an open file from `library_of` to link with."""
    extensions = _SPIRV_EXTENSIONS + (",+SPV_ALTERA_arbitrary_precision_integers" if wide_integers else "")
    options = (*_TARGET, "-x", "ir", "-emit-obj", "-O2", "-disable-llvm-passes", "-mllvm", extensions)
    if library is None:
        return run_clang(ir.encode(), options)
    return run_clang(ir.encode(), (*options, "-mlink-bitcode-file", f"/proc/self/fd/{library}"), (library,))


def library_of(text: str) -> int:
    """An open memory file with the bitcode of device code that does not need the prelude."""
    # Without debug lines: with them, every call would need one.
    frontend = [flag for flag in _FRONTEND if not flag.startswith("-debug-info")]
    result = run_clang(text.encode(), ("-emit-llvm-bc", *frontend, *_language_flags(Language.CUDA)))
    if not result.succeeded:
        raise UnavailableError(
            f"Warpsmith's own device code does not compile: {result.log[:2000]}", hint="reinstall warpsmith and ziglang"
        )
    return unnamed_file(result.output)


def _folders(include_dirs: Sequence[Path]) -> list[str]:
    return [flag for folder in include_dirs for flag in ("-I", str(folder))]


def _language_flags(language: Language, *, for_host: bool = False) -> list[str]:
    """`for_host`: parsed as by a host compiler, for inspection and not for code generation."""
    hip = language is Language.HIP
    dialect = ["-x", "hip", "-DWARPSMITH_HIP=1"] if hip else ["-x", "cuda"]
    side = ("-aux-triple", _TARGET[1]) if for_host else ("-fcuda-is-device",)
    return [*_TARGET, *dialect, *side, "-std=gnu++20", "-fdeclspec", "-isystem", str(INCLUDE), *prelude_flags()]
