"""AMD machine code as text: clang writes assembly, from which the facts are read, and assembles it to the code object."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warpsmith.devices._clang.binary import clang_binary
from warpsmith.devices.base import CompileError
from warpsmith.devices.hip.target import HipTarget

_TRIPLE = "amdgcn-amd-amdhsa"
_REFUSED_LINE = re.compile(r"^<stdin>:\d+:\d+: error: .*\n(.+)$", re.MULTILINE)
_LOAD = re.compile(r"(?:global|flat|buffer)_load_(\w+)")
_WIDTHS = {
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
    "ubyte": 1, "sbyte": 1, "u8": 1, "i8": 1, "ushort": 2, "sshort": 2, "short": 2, "u16": 2, "i16": 2, "b16": 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """`load_bytes` is a thread's widest load from global memory; None if there is none."""

    instructions: int
    load_bytes: int | None


def instructions(assembly: str, kernel: str) -> list[str]:
    """One kernel's, without comments and labels."""
    found: list[str] = []
    inside = False
    for line in assembly.splitlines():
        if line.startswith(f"{kernel}:"):
            inside = True
        elif inside and line.startswith(".Lfunc_end"):
            break
        elif inside and line.startswith("\t"):
            text = line.partition(";")[0].strip()
            if text and not text.startswith("."):
                found.append(text)
    return found


def read_code(assembly: str, kernel: str) -> CodeFacts:
    code = instructions(assembly, kernel)
    widths = [_WIDTHS.get(match[1].partition("_")[0]) for line in code if (match := _LOAD.match(line))]
    return CodeFacts(len(code), max((width for width in widths if width), default=None))


def assembled(assembly: bytes, target: HipTarget) -> bytes:
    """Not linked yet."""
    command = ("clang", "-cc1as", "-triple", _TRIPLE, "-target-cpu", target.name, "-filetype", "obj", "-o", "-", "-")
    try:
        return _run(command, assembly, "assemble")
    except CompileError as error:
        # clang's own output can always be assembled.
        line = next(iter(_REFUSED_LINE.findall(error.log)), None)
        if line is None:
            raise
        words = f"the kernel has inline assembly that is not {target.name}'s: {' '.join(line.split())}"
        raise CompileError(words, error.log) from error


def linked(compiled: bytes) -> bytes:
    """Undefined symbols in other kernels of the file only affect those kernels."""
    with tempfile.TemporaryDirectory(prefix="warpsmith-hip-") as folder:
        unlinked, result = Path(folder, "kernel.o"), Path(folder, "kernel.co")
        unlinked.write_bytes(compiled)
        _run(("ld.lld", "-shared", "-o", str(result), str(unlinked)), b"", "link")
        return result.read_bytes()


def _run(command: tuple[str, ...], text: bytes, what: str) -> bytes:
    done = subprocess.run([str(clang_binary()), *command], input=text, capture_output=True, check=False)
    if done.returncode != 0:
        raise CompileError(f"the toolchain could not {what} the kernel", done.stderr.decode(errors="replace"))
    return done.stdout
