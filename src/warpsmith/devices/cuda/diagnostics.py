"""Interprets errors of NVRTC and ptxas for the user: the wrong line, or a mismatch between kernel.toml and the source."""

from __future__ import annotations

import re
from pathlib import Path

from warpsmith.devices._clang.preprocess import Diagnostic
from warpsmith.devices.base import CompileError
from warpsmith.devices.cuda.ptxas import without_chatter

_ERROR = re.compile(r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)$")
_PTXAS = re.compile(r"^ptxas (?:error\s*: |.*; error\s*: )(?P<text>.*)$")
_MISSING_HEADER = re.compile(r'(?:cannot|could not) open source file "([^"]+)"')
_SHARED = re.compile(r"uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)")
_LAUNCH = "device-side kernel launch"
_NAME_MAP = "__nv_name_map"  # the file NVRTC generates for name expressions


def errors(log: str) -> list[Diagnostic]:
    """NVRTC front-end errors, in the same form as clang's."""
    found = (_ERROR.match(line) for line in log.splitlines())
    return [Diagnostic(match["file"], int(match["line"]), "error", match["text"]) for match in found if match]


def failure(log: str, entry: str) -> CompileError:
    """The first error in actionable words, and the log without boilerplate."""
    cleaned = without_chatter(log)
    for line in cleaned.splitlines():
        if match := _ERROR.match(line):
            if match["file"] == _NAME_MAP:
                return CompileError(_entry_problem(match["text"], entry))
            return CompileError(f"{Path(match['file']).name}:{match['line']}: {_explained(match['text'])}", cleaned)
        if match := _PTXAS.match(line):
            return CompileError(_too_much_shared(match["text"]) or f"ptxas: {match['text']}", cleaned)
    return CompileError("NVRTC failed without an error message", cleaned)


def _too_much_shared(text: str) -> str | None:
    match = _SHARED.search(text)
    if match is None:
        return None
    used, most = int(match[1], 16), int(match[2], 16)
    return f"{used} bytes of static shared memory exceed the {most} of a block; hint: more has to be dynamic (extern __shared__)"


def _explained(text: str) -> str:
    if match := _MISSING_HEADER.search(text):
        return f"no header {match[1]!r}; hint: NVRTC knows CUDA's headers and the freestanding standard library, not the host's"
    if _LAUNCH in text:
        return "a kernel launch, which is host code; hint: give the kernel a file of its own (warpsmith extract makes one)"
    return text


def _entry_problem(text: str, entry: str) -> str:
    if "cannot determine which instance" in text:
        return f"the entry {entry!r} is a template or overloaded; hint: name one instance, as in kernel<float>"
    if "is undefined" in text or "has no member" in text:
        return f"the entry is not in the source: {text}"
    return f"the entry {entry!r} cannot be instantiated: {text}"
