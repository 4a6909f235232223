"""Machine code as text, by `nvdisasm`: a list of comparable instructions, and their kinds.

Takes a third of a second per cubin: for certificates and promising candidates, not for every configuration.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

from warpsmith.core.errors import UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices._elf import Elf
from warpsmith.devices._wheels import wheel_file
from warpsmith.devices.cuda.cubin import read_cubin

WHEEL = "nvidia-cuda-nvdisasm"

_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s*(.*?)\s*;")
_LINE = re.compile(r'//## File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"^([.$\w]+):\s*$")
_REFERENCE = re.compile(r"`\(([^()]*)\)")
_INFO = ".nv.info."
_DATA = (".nv.constant", ".nv.global.init")
# Names in anonymous namespaces carry a hash of the file's name.
_FILE_HASH = re.compile(r"\d+_GLOBAL__N__[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}")


def sass(cubin: bytes, kernel: str | None = None) -> list[str]:
    """The instructions of one kernel (by its lowered name), or of all in the cubin's order; equal lists are equal code.

    Addresses and padding are left out, and a jump names the number of its target instruction: labels, function names and the
    cubin's other kernels make no difference.
    """
    sections = dict(_sections(_disassembled(cubin)))
    if kernel is not None and kernel not in sections:
        raise ValueError(f"the cubin has no kernel {kernel}; it has {', '.join(sections) or 'none'}")
    chosen = sections if kernel is None else {kernel: sections[kernel]}
    return [instruction for lines in chosen.values() for instruction in _instructions(lines)]


def source_lines(cubin: bytes, kernel: str) -> list[tuple[str, int] | None]:
    """File and line of each instruction; inlined code has its own location. None if the cubin has no line information."""
    found: list[tuple[str, int] | None] = []
    for name, lines in _sections(_disassembled(cubin, "--print-line-info")):
        if name != kernel:
            continue
        at: tuple[str, int] | None = None
        for line in lines:
            if match := _LINE.search(line):
                at = (match[1], int(match[2]))
            elif _INSTRUCTION.match(line):
                found.append(at)
    return found


def machine_code(cubin: bytes, kernel: str) -> str:
    """A fingerprint of everything executed: instructions of the kernel and of functions that were not inlined; the data they
    read.

    Raises ValueError if it is not a cubin with that kernel.
    """
    facts = read_cubin(cubin, kernel)
    elf = Elf(cubin)
    others = {s.name.removeprefix(_INFO) for s in elf.sections if s.name.startswith(_INFO)} - {kernel}
    code = {name: _instructions(lines) for name, lines in _sections(_disassembled(cubin)) if name not in others}
    data = [s for s in elf.sections if s.name.startswith(_DATA) and not s.name.endswith(tuple(f".{name}" for name in others))]
    read = [(section.name.removesuffix(f".{kernel}"), section.data.hex()) for section in data]
    return fingerprint(code.pop(kernel), code, read, asdict(facts))


@cache
def nvdisasm() -> Path:
    path = wheel_file(WHEEL, "nvdisasm")
    if path is None:
        path = _installed()
    if path is None:
        raise UnavailableError(f"no nvdisasm: the wheel {WHEEL} is not installed", hint=f"pip install {WHEEL}")
    return path


def _installed() -> Path | None:
    """From a toolkit (CUDA_HOME, conda)."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        return None
    found = find_nvidia_binary_utility("nvdisasm")
    return Path(found) if found else None


def _disassembled(cubin: bytes, *options: str) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([str(nvdisasm()), "--print-code", *options, file.name], capture_output=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"nvdisasm refused the cubin: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    name, lines = "", list[str]()
    for line in text.splitlines():
        if match := _SECTION.match(line):
            if name:
                yield name, lines
            name, lines = match[1], []
        else:
            lines.append(line)
    if name:
        yield name, lines


def _instructions(lines: list[str]) -> list[str]:
    found: list[str] = []
    places: dict[str, int] = {}
    for line in lines:
        if match := _INSTRUCTION.match(line):
            found.append(re.sub(r"\s+", " ", match[1]))
        elif match := _LABEL.match(line):
            places[match[1]] = len(found)
    while found and found[-1] == "NOP":
        found.pop()
    return [_REFERENCE.sub(lambda match: _target(match[1], places), instruction) for instruction in found]


def _target(symbol: str, places: dict[str, int]) -> str:
    return f"@{places[symbol]}" if symbol in places else f"`({_FILE_HASH.sub('_GLOBAL__N_', symbol)})"
