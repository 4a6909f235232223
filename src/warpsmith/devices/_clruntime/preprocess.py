"""Preprocesses OpenCL C with clang, because the runtime has no such step."""

from __future__ import annotations

from pathlib import Path

from warpsmith.devices._clang.binary import run_clang
from warpsmith.devices._clang.preprocess import NEUTRAL_PLACES, begins, definitions, parse_log, users_tokens
from warpsmith.devices.base import CompileError, CompileRequest


def opencl_tokens(request: CompileRequest) -> list[str]:
    folders = [flag for folder in (request.source_file.parent, *request.include_dirs) for flag in ("-I", str(folder))]
    text = f"{definitions(request.defines)}{begins(request.source_file)}{request.source}"
    flags = ("-E", "-triple", "spir64-unknown-unknown", "-x", "cl", "-cl-std=CL3.0", *NEUTRAL_PLACES)
    result = run_clang(text.encode(), (*flags, *folders))
    if not result.succeeded:
        error = next((d for d in parse_log(result.log) if d.is_error), None)
        reason = f"{Path(error.file).name}:{error.line}: {error.text}" if error else "clang could not preprocess the kernel"
        raise CompileError(reason, result.log)
    return users_tokens(result.output.decode(errors="replace"))
