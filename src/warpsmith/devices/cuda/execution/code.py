"""Instructions of a kernel, read from its cubin.

An instruction has 16 bytes; their meaning does not depend on their position, except for the issue delay in the topmost bits. So
the disassembler is used as a dictionary: it is started only for words that this process has not seen.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices._elf import Elf
from warpsmith.devices.cuda.cubin import architecture
from warpsmith.devices.cuda.execution.kinds import KINDS, REFUSED, Kind
from warpsmith.devices.cuda.execution.operand import Form, Operand, parse_operand
from warpsmith.devices.cuda.sass import nvdisasm

BYTES = 16
_WORD = struct.Struct("<QQ")
_ISSUE = 105 - 64  # the first bit of the second half that says when to issue
_MEANING = (1 << _ISSUE) - 1
_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s*(.*?)\s*;")
_GUARD = re.compile(r"@(!?)(U?P\d|U?PT)\s+")
_GLOBAL = frozenset({"LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED"})
_RELATIVE = frozenset({"BRA", "BSSY", "CALL", "RET", "JMP", "BRX"})

_known: dict[tuple[int, int, int], Instruction] = {}


@dataclass(frozen=True, slots=True)
class Issue:
    """Issue control: cycles until the next instruction; barriers that it sets, and those that it waits for."""

    stall: int
    sets_result: int | None
    sets_read: int | None
    waits: int


@dataclass(frozen=True)
class Instruction:
    """`name` is the part before the first dot, `modifiers` the rest. A jump's target is relative to its own position."""

    text: str
    name: str
    modifiers: tuple[str, ...]
    guard: Operand | None
    operands: tuple[Operand, ...]

    @cached_property
    def kind(self) -> Kind:
        found = KINDS.get(self.name)
        if found is None:
            why = f" ({REFUSED[self.name]})" if self.name in REFUSED else ""
            raise UnsupportedFeature(f"the instruction {self.name}{why} cannot be counted without a GPU")
        return found

    @cached_property
    def access_bytes(self) -> int:
        """Size of one thread's access to memory."""
        for modifier, width in (("128", 16), ("64", 8), ("U8", 1), ("S8", 1), ("8", 1), ("U16", 2), ("S16", 2), ("16", 2)):
            if modifier in self.modifiers:
                return width
        return 4

    @cached_property
    def address(self) -> Operand | None:
        return next((operand for operand in self.operands if operand.form is Form.ADDRESS), None)

    @cached_property
    def target(self) -> int | None:
        """Distance of the target in instructions."""
        if self.name not in _RELATIVE:
            return None
        return next((operand.value for operand in reversed(self.operands) if operand.form is Form.NUMBER), None)


@dataclass(frozen=True)
class Code:
    """One kernel's instructions, and their issue control."""

    instructions: tuple[Instruction, ...]
    issues: tuple[Issue, ...]
    architecture: int


def read_instructions(cubin: bytes, kernel: str) -> Code:
    """Raises ValueError if it is not a cubin with that kernel, UnsupportedFeature if it cannot be read."""
    elf = Elf(cubin)
    section = elf.section(f".text.{kernel}")
    if section is None:
        raise ValueError(f"the cubin has no kernel {kernel}")
    number = architecture(elf)
    words = list(_WORD.iter_unpack(section.data))
    keys = [(number, low, high & _MEANING) for low, high in words]
    _learn(number, {key: word for key, word in zip(keys, words, strict=True) if key not in _known})
    return Code(tuple(_known[key] for key in keys), tuple(_issue(high >> _ISSUE) for _, high in words), number)


def _learn(number: int, words: Mapping[tuple[int, int, int], tuple[int, int]]) -> None:
    if not words:
        return
    unknown, raw = list(words), b"".join(_WORD.pack(*word) for word in words.values())
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw)
        file.flush()
        command = [str(nvdisasm()), "--binary", f"SM{number}", "--no-dataflow", file.name]
        done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise UnsupportedFeature(f"nvdisasm refused the code: {done.stderr.decode(errors='replace').strip()}")
    for line in done.stdout.decode(errors="replace").splitlines():
        if match := _LINE.match(line):
            place = int(match[1], 16)
            _known[unknown[place // BYTES]] = _parsed(re.sub(r"\s+", " ", match[2]), place)
    missing = [key for key in unknown if key not in _known]
    if missing:
        raise UnsupportedFeature(f"nvdisasm did not decode {len(missing)} instructions")


def _parsed(text: str, place: int) -> Instruction:
    rest, guard = text, None
    if match := _GUARD.match(rest):
        guard = parse_operand(match[1] + match[2])
        rest = rest[match.end() :]
    head, _, tail = rest.partition(" ")
    name, *modifiers = head.split(".")
    operands = [parse_operand(part.strip().removesuffix(".reuse")) for part in tail.split(",")] if tail else []
    if name in _RELATIVE:
        operands = [
            Operand(Form.NUMBER, value=(operand.value - place) // BYTES) if operand.form is Form.NUMBER else operand
            for operand in operands
        ]
    if name in _GLOBAL:  # 64 bits, whether it says so or not
        operands = [
            replace(operand, wide=operand.wide or not operand.narrow, wide_uniform=True)
            if operand.form is Form.ADDRESS
            else operand
            for operand in operands
        ]
    return Instruction(text, name, tuple(modifiers), guard, tuple(operands))


def _issue(bits: int) -> Issue:
    """Four bits of cycles, a yield bit, barriers set on result and on operands read, and barriers waited for."""
    result, read = bits >> 5 & 7, bits >> 8 & 7
    return Issue(bits & 15, result if result < 6 else None, read if read < 6 else None, bits >> 11 & 63)
