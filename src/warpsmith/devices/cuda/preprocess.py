"""The user's tokens after preprocessing, for identity certificates: clang's preprocessor, for NVRTC does not show its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from warpsmith.devices._clang.binary import clang_binary, run_clang
from warpsmith.devices._clang.preprocess import begins, definitions, parse_log, users_tokens
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cuda.headers import header_folders
from warpsmith.devices.cuda.target import CudaTarget

# What NVRTC predefines and headers ask for.
_MACROS = ("-D__CUDACC__", "-D__CUDACC_RTC__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__NVCC__")


def preprocessed_tokens(request: CompileRequest, target: CudaTarget) -> list[str]:
    """Raises CompileError."""
    folders = (request.source_file.parent, *request.include_dirs, *header_folders())
    mixed = Mixed(request.source, request.source_file, folders, parse_log)
    return mixed.preprocessed(lambda text: _tokens(text, request, target))


def _tokens(source: str, request: CompileRequest, target: CudaTarget) -> list[str]:
    folders = [flag for folder in (request.source_file.parent, *request.include_dirs) for flag in ("-I", str(folder))]
    text = f"{definitions(request.defines)}{begins(request.source_file)}{source}"
    flags = ("-E", "-triple", "nvptx64-nvidia-cuda", "-x", "cuda", "-fcuda-is-device", "-std=c++20", *_MACROS)
    result = run_clang(text.encode(), (*flags, f"-D__CUDA_ARCH__={target.number}0", *folders, *_system_folders()))
    if not result.succeeded:
        errors = [diagnostic for diagnostic in parse_log(result.log) if diagnostic.is_error]
        reason = f"{errors[0].file}:{errors[0].line}: {errors[0].text}" if errors else "the preprocessor failed"
        raise CompileError(reason, result.log)
    return users_tokens(result.output.decode(errors="replace"))


@cache
def _system_folders() -> tuple[str, ...]:
    built_in = Path(__file__).parent / "builtin_headers"
    folders = (*header_folders(), built_in, clang_binary().parent / "lib" / "include")
    return tuple(flag for folder in folders for flag in ("-internal-isystem", str(folder)))
