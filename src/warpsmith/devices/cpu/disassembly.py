"""Disassembles machine code: a program is an ELF file around an object file, read by the system's disassembler."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from warpsmith.core.errors import UnavailableError
from warpsmith.devices._elf import Elf

_OBJECT = ".ocl.obj"
_TOOLS = ("objdump", "llvm-objdump")
_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]*)>:")
_INSTRUCTION = re.compile(r"^\s*(?P<address>[0-9a-f]+):\s+(?P<text>\S.*)$")
_JUMP = re.compile(r"^(?P<what>j\w+)\s+(?:0x)?(?P<address>[0-9a-f]+)\b.*$")
_SYMBOL = re.compile(r"\s*(?:#.*|<[^>]*>)")
_DEADLINE_S = 20.0


def instructions(code: bytes) -> list[str]:
    """Instructions of all functions of a program, in order; a jump names the number of its target instruction, as `jne @12`.

    Raises ValueError if it is no such program, UnavailableError if the system has no disassembler.
    """
    inner = next((section.data for section in Elf(code).sections if section.name == _OBJECT), None)
    if inner is None:
        raise ValueError(f"the program has no section {_OBJECT}")
    found: list[str] = []
    for body in _functions(_disassembled(inner)):
        places = {address: len(found) + number for number, (address, _) in enumerate(body)}
        found += [_numbered(text, places) for _, text in body]
    return found


def _disassembled(code: bytes) -> str:
    tool = next((path for name in _TOOLS if (path := shutil.which(name)) is not None), None)
    if tool is None:
        raise UnavailableError("no disassembler", hint="install objdump: it comes with binutils")
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        command = [tool, "-d", "--no-show-raw-insn", "-M", "intel", file.name]
        done = subprocess.run(command, capture_output=True, check=False, timeout=_DEADLINE_S)
    if done.returncode != 0:
        raise ValueError(f"{tool} refused the program: {done.stderr.decode(errors='replace').strip()[:300]}")
    return done.stdout.decode(errors="replace")


def _functions(text: str) -> Iterator[list[tuple[str, str]]]:
    body: list[tuple[str, str]] = []
    for line in text.splitlines():
        if _FUNCTION.match(line):
            yield body
            body = []
        elif match := _INSTRUCTION.match(line):
            body.append((match["address"], " ".join(match["text"].split())))
    yield body


def _numbered(text: str, places: dict[str, int]) -> str:
    jump = _JUMP.match(text)
    if jump is not None and jump["address"] in places:
        return f"{jump['what']} @{places[jump['address']]}"
    return _SYMBOL.sub("", text)
