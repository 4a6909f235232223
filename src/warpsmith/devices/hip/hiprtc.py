"""Calls of the machine's hiprtc, which has ROCm's device library (sin, pow, double precision) that our own clang lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from warpsmith.core.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class HiprtcResult:
    """`lowered` has the mangled name of each expression. After a failure it and `code` are empty, and `log` says why."""

    code: bytes
    log: str
    lowered: Mapping[str, str]


@cache
def version() -> str | None:
    """None without hiprtc."""
    try:
        answer = _bindings().hiprtcVersion()
    except (ImportError, RuntimeError):  # no bindings; bindings without the library
        return None
    return ".".join(str(part) for part in answer[1:])


def run_hiprtc(source: str, name: str, expressions: Sequence[str], options: Sequence[str]) -> HiprtcResult:
    """One program. The expressions name the wanted kernels (`k<float>`) and variables (`&table`)."""
    hiprtc = _bindings()
    with _program(hiprtc, source, name) as program:
        for expression in expressions:
            _checked(hiprtc, hiprtc.hiprtcAddNameExpression(program, expression.encode()))
        (status,) = hiprtc.hiprtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = _bytes(hiprtc, program, hiprtc.hiprtcGetProgramLogSize, hiprtc.hiprtcGetProgramLog)
        said = log.rstrip(b"\0").decode(errors="replace")
        if status == hiprtc.hiprtcResult.HIPRTC_ERROR_COMPILATION:
            return HiprtcResult(b"", said, {})
        _checked(hiprtc, (status,), said)
        code = _bytes(hiprtc, program, hiprtc.hiprtcGetCodeSize, hiprtc.hiprtcGetCode)
        found = (_checked(hiprtc, hiprtc.hiprtcGetLoweredName(program, expression.encode())) for expression in expressions)
        return HiprtcResult(code, said, {expression: str(name) for expression, name in zip(expressions, found, strict=True)})


def _bindings() -> ModuleType:
    from hip import hiprtc  # noqa: PLC0415 - optional

    module: ModuleType = hiprtc
    return module


@contextmanager
def _program(hiprtc: ModuleType, source: str, name: str) -> Iterator[Any]:
    program = _checked(hiprtc, hiprtc.hiprtcCreateProgram(source.encode(), name.encode(), 0, None, None))
    try:
        yield program
    finally:
        hiprtc.hiprtcDestroyProgram(program.createRef())


def _checked(hiprtc: ModuleType, answer: tuple[Any, ...], log: str = "") -> Any:
    """The value behind the status that begins every call's result."""
    status, *values = answer
    if status != hiprtc.hiprtcResult.HIPRTC_SUCCESS:
        raise UnavailableError(f"hiprtc failed: {status.name}{f': {log.strip()}' if log.strip() else ''}")
    return values[0] if values else None


def _bytes(hiprtc: ModuleType, program: Any, size: Any, read: Any) -> bytes:
    buffer = bytearray(_checked(hiprtc, size(program)))
    _checked(hiprtc, read(program, buffer))
    return bytes(buffer)
