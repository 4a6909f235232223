"""The user's tokens after preprocessing, for identity certificates, by clang's preprocessor: NVRTC does not expose its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from warpsmith.devices._clang.binary import clang_binary, run_clang
from warpsmith.devices._clang.preprocess import NEUTRAL_PLACES, begins, definitions, parse_log, users_tokens
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cuda.headers import header_folders
from warpsmith.devices.cuda.nvrtc import version
from warpsmith.devices.cuda.target import CudaTarget

# Architectures with specific features that also have a specific macro.
_NAMED_FEATURES = frozenset({90, 100, 103, 110, 120})


def preprocessed_tokens(request: CompileRequest, target: CudaTarget) -> list[str]:
    """Raises CompileError."""
    folders = (request.source_file.parent, *request.include_dirs, *header_folders())
    mixed = Mixed(request.source, request.source_file, folders, parse_log, request.defines)
    return mixed.preprocessed(lambda text: _tokens(text, request, target))


def _tokens(source: str, request: CompileRequest, target: CudaTarget) -> list[str]:
    folders = [flag for folder in (request.source_file.parent, *request.include_dirs) for flag in ("-I", str(folder))]
    text = f"{definitions(request.defines)}{begins(request.source_file)}{source}"
    flags = ("-E", "-triple", "nvptx64-nvidia-cuda", "-x", "cuda", "-fcuda-is-device", "-std=c++20", "-undef", *NEUTRAL_PLACES)
    given = (f"-D{name}={value}" for name, value in predefined(target).items())
    result = run_clang(text.encode(), (*flags, *given, *folders, *_system_folders()))
    if not result.succeeded:
        errors = [diagnostic for diagnostic in parse_log(result.log) if diagnostic.is_error]
        reason = f"{errors[0].file}:{errors[0].line}: {errors[0].text}" if errors else "the preprocessor failed"
        raise CompileError(reason, result.log)
    return users_tokens(result.output.decode(errors="replace"))


def predefined(target: CudaTarget) -> dict[str, int]:
    """NVRTC's predefined macros, by which sources and headers choose branches."""
    major, minor = version()
    architecture = 10 * target.number
    found = {
        "__CUDACC__": 1,
        "__CUDACC_RTC__": 1,
        "__CUDACC_VER_MAJOR__": major,
        "__CUDACC_VER_MINOR__": minor,
        "CUDART_VERSION": 1000 * major + 10 * minor,
        "__EDG__": 1,
        "__LP64__": 1,
        "__CUDACC_RTC_INT128__": 1,
        "__NV_BUILTIN_INITIALIZER_LIST": 1,
        "__NV_BUILTIN_MOVE_FORWARD": 1,
        "__CUDA_FTZ": 0,
        "__CUDA_PREC_DIV": 1,
        "__CUDA_PREC_SQRT": 1,
        "__CUDA_ARCH__": architecture,
        "__CUDA_ARCH_LIST__": architecture,
    }
    if target.variant:
        found["__CUDA_ARCH_FAMILY_SPECIFIC__"] = architecture
    if target.variant == "a":
        found["__CUDA_ARCH_SPECIFIC__"] = architecture
        if target.number in _NAMED_FEATURES:
            found[f"__CUDA_ARCH_FEAT_SM{target.number}_ALL"] = 1
    return found


@cache
def _system_folders() -> tuple[str, ...]:
    built_in = Path(__file__).parent / "builtin_headers"
    folders = (*header_folders(), built_in, clang_binary().parent / "lib" / "include")
    return tuple(flag for folder in folders for flag in ("-internal-isystem", str(folder)))
