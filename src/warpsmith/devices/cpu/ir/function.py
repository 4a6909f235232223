"""One function of IR text as blocks of instructions. Questions about its graph: `flow`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from warpsmith.devices.cpu.ir.module import NAME

_LABEL = re.compile(rf"^({NAME}):")
_RESULT = re.compile(rf"^\s+(%{NAME}) = (.*)$")
_VALUE = re.compile(rf"%{NAME}")
_TARGET = re.compile(rf"label (%{NAME})")
_CALLEE = re.compile(rf"@({NAME})\(")
_OPCODE = re.compile(r"^(?:(?:tail|musttail|notail) )?(\w+)")
_UNNAMED = re.compile(r"%(?=\d)|^(?=\d+:)")
_STRING = re.compile(r'c?"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Instruction:
    """`body` is the text after `%result =`, `callee` the name of a directly called function: the analyses ask for them so often
    that reading them anew took most of their time.
    """

    text: str
    result: str | None
    opcode: str
    operands: tuple[str, ...]
    body: str
    callee: str | None

    @staticmethod
    def parse(text: str) -> Instruction:
        return _parsed(text)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name[1:] for name in _TARGET.findall(self.text)))


@lru_cache(
    maxsize=1 << 14
)  # a function is parsed for each of several passes, and one configuration's is much like the next one's
def _parsed(text: str) -> Instruction:
    match = _RESULT.match(text)
    result, body = (match[1], match[2]) if match else (None, text.strip())
    found = _OPCODE.match(body)
    opcode = found[1] if found else ""
    operands = _VALUE.findall(body)
    if "label " in body:
        labels = set(_TARGET.findall(body))
        operands = [name for name in operands if name not in labels]
    called = _CALLEE.search(_without_strings(text)) if opcode == "call" else None
    return Instruction(text, result, opcode, tuple(operands), body, called[1].strip('"') if called else None)


@dataclass(slots=True)
class Block:
    label: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]

    @property
    def successors(self) -> tuple[str, ...]:
        return self.terminator.targets


@dataclass(slots=True)
class Function:
    header: str
    blocks: dict[str, Block]

    @classmethod
    def parse(cls, lines: list[str]) -> Function:
        """Unnamed values get names, because numbers would have to stay in sequence."""
        # A leading dot, which no source name has: `v` would collide with clang's v1, v2, … of a variable of that name.
        lines = [_UNNAMED.sub(lambda match: f"{match[0]}.n", line) for line in lines]
        blocks: dict[str, Block] = {}
        current: Block | None = None
        position = 1
        while position < len(lines) - 1:
            line = lines[position]
            position += 1
            if not line.strip() or line.startswith(";"):
                continue
            if match := _LABEL.match(line):
                current = Block(match[1])
                blocks[current.label] = current
                continue
            while line.rstrip().endswith("[") or ("[" in line and line.lstrip().startswith("switch") and "]" not in line):
                line += " " + lines[position].strip()
                position += 1
            if current is None:
                current = Block("entry")
                blocks[current.label] = current
            current.instructions.append(Instruction.parse(line))
        return cls(lines[0], blocks)

    def hoist_casts_of_allocas(self) -> None:
        """Moves casts of allocas to the entry, where the allocas are: inlining leaves them at the call."""
        allocas = {i.result for block in self.blocks.values() for i in block.instructions if i.opcode == "alloca"}
        casts: list[Instruction] = []
        for block in self.blocks.values():
            mine = [i for i in block.instructions if i.opcode == "addrspacecast" and i.operands and i.operands[0] in allocas]
            casts += mine
            if mine:
                block.instructions = [i for i in block.instructions if i.opcode != "addrspacecast" or i not in mine]
        entry = self.blocks[self.entry]
        after = 1 + max((n for n, i in enumerate(entry.instructions) if i.opcode == "alloca"), default=-1)
        entry.instructions[after:after] = casts

    @property
    def entry(self) -> str:
        return next(iter(self.blocks))

    @property
    def lines(self) -> list[str]:
        out = [self.header]
        for block in self.blocks.values():
            out.append(f"{block.label}:")
            out += [instruction.text for instruction in block.instructions]
        return [*out, "}"]


def _without_strings(text: str) -> str:
    return _STRING.sub('""', text) if " asm " in text else text
