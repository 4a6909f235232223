"""Shadows loop variables with equal copies that the vectoriser must treat as varying between threads.

    before the loop        last = v; all = zero; own = v + zero
    after a write to v     all &= v; own += v - last + all; last = v
    behind the loop        v = own; last = own

`zero` is non-zero only for a thread beyond the end of the block, which does not exist, but the compiler cannot know that. In the
loop `v` is unchanged, uniform where it was, and cheap. The twin depends on its own history, so it varies whatever an optimiser
knows about `v`; and on every written value, so that none is moved out of the loop. Bits are summed as integers for any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.parts import Part, scalar_bits
from warpsmith.devices.cpu.ir.places import Places

_THREAD, _SIZE = "i64 @llvm.spv.thread.id.in.group.i64", "i64 @llvm.spv.workgroup.size.i64"
_VECTOR = re.compile(r"<(\d+) x (\w+)>$")
_NEVER, _NONE = "%twins.never", "%twins.none"
Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Taken:
    """Values that threads carry out of one loop."""

    blocks: frozenset[str]
    entries: frozenset[Edge]
    exits: frozenset[Edge]
    parts: tuple[tuple[str, Part], ...]  # with their variables
    places: Places
    around: str | None = None  # a block behind the loop, to which a way around it is to lead


def give_twins(module: Module, name: str, function: Function, loops: list[Taken]) -> None:
    writer = _Writer({part: number for number, part in enumerate(dict.fromkeys(p for loop in loops for _, p in loop.parts))})
    for label, block in function.blocks.items():
        inside = dict.fromkeys(part for loop in loops if label in loop.blocks for part in loop.parts)
        if inside:
            block.instructions = list(_followed(block.instructions, list(inside), loops[0].places, writer))
    edges: dict[Edge, list[Instruction]] = {}
    for edge in dict.fromkeys(edge for loop in loops for edge in sorted(loop.exits)):
        for part in dict.fromkeys(part for loop in loops if edge in loop.exits for _, part in loop.parts):
            edges.setdefault(edge, []).extend(writer.take_back(part))
    for edge in dict.fromkeys(edge for loop in loops for edge in sorted(loop.entries)):
        for part in dict.fromkeys(part for loop in loops if edge in loop.entries for _, part in loop.parts):
            edges.setdefault(edge, []).extend(writer.begin(part))
    around = {edge: loop.around for loop in loops if loop.around is not None for edge in sorted(loop.entries)}
    for edge in dict.fromkeys((*edges, *around)):
        _put_on_edge(function, edge, edges.get(edge, []), around.get(edge))
    entry = function.blocks[function.entry]
    variables = [i for i in entry.instructions if i.opcode == "alloca"]
    others = [i for i in entry.instructions if i.opcode != "alloca"]
    entry.instructions = [*variables, *writer.declarations(), *others]
    module.replace(name, function.lines)
    text = module.text
    module.pieces += [(None, [f"declare {name}(i32)"]) for name in (_THREAD, _SIZE) if f"declare {name}(" not in text]


def _followed(
    instructions: list[Instruction], parts: list[tuple[str, Part]], places: Places, writer: _Writer
) -> Iterator[Instruction]:
    for i in instructions:
        yield i
        written = {access.variable: access.bytes for access in places.writes(i)}
        for variable, part in parts:
            if part.bytes & written.get(variable, 0):
                yield from writer.follow(part)


def _put_on_edge(function: Function, edge: Edge, code: list[Instruction], around: str | None) -> None:
    label, target = edge
    between = f"{label}.twins.{target}"
    block = function.blocks[label]
    turned = re.sub(rf"label %{re.escape(target)}(?![-\w$.])", f"label %{between}", block.terminator.text)
    block.instructions[-1] = Instruction.parse(turned)
    meeting = function.blocks[target]
    meeting.instructions = [
        Instruction.parse(i.text.replace(f", %{label} ]", f", %{between} ]")) if i.opcode == "phi" else i
        for i in meeting.instructions
    ]
    blocks = list(function.blocks.items())
    place = next(n for n, (name, _) in enumerate(blocks) if name == label)
    onward = f"br label %{target}" if around is None else f"br i1 {_NONE}, label %{around}, label %{target}"
    blocks.insert(place + 1, (between, Block(between, [*code, Instruction.parse(f"  {onward}")])))
    function.blocks = dict(blocks)


class _Writer:
    """Writes code for one part at a time; `of` selects its place: the variable's own, `last` or `own`."""

    def __init__(self, numbers: dict[Part, int]) -> None:
        self._numbers = numbers
        self._serial = 0
        self._lines: list[str] = []

    def declarations(self) -> list[Instruction]:
        for part, number in self._numbers.items():
            self._lines += [f"%twins.{of}{number} = alloca {part.kind}, align 8" for of in ("last", "own")]
            self._lines.append(f"%twins.all{number} = alloca {_integer(part)}, align 8")
        self._lines += [
            f"%twins.thread = call {_THREAD}(i32 0)",
            f"%twins.size = call {_SIZE}(i32 0)",
            f"{_NEVER} = icmp uge i64 %twins.thread, %twins.size",
            f"{_NONE} = icmp eq i64 %twins.size, 0",
        ]
        for part, number in self._numbers.items():  # or what was never written would be anything, and not always the same
            self._lines.append(f"%twins.part{number} = {part.address}")
            self._store(part, "part", "null" if part.kind.startswith("ptr") else "zeroinitializer")
        return self._written()

    def begin(self, part: Part) -> list[Instruction]:
        value, zero = self._load(part, "part"), self._zero(part)
        self._store(part, "last", value)
        self._lines.append(f"store {_integer(part)} {zero}, ptr %twins.all{self._numbers[part]}")
        self._store(part, "own", self._sum(part, value, zero))
        return self._written()

    def follow(self, part: Part) -> list[Instruction]:
        kind, number = _integer(part), self._numbers[part]
        value = self._load(part, "part")
        bits, before = self._bits(part, value), self._bits(part, self._load(part, "last"))
        known = self._value(f"load {kind}, ptr %twins.all{number}")
        known = self._value(f"and {kind} {known}, {bits}")
        difference = self._value(f"sub {kind} {bits}, {before}")
        self._lines.append(f"store {kind} {known}, ptr %twins.all{number}")
        self._store(part, "last", value)
        self._store(part, "own", self._sum(part, self._load(part, "own"), self._value(f"add {kind} {difference}, {known}")))
        return self._written()

    def take_back(self, part: Part) -> list[Instruction]:
        own = self._load(part, "own")
        self._store(part, "part", own)
        self._store(part, "last", own)
        return self._written()

    def _zero(self, part: Part) -> str:
        if part.kind == "i1":
            return _NEVER
        match = _VECTOR.match(part.kind)
        if match is None:
            return self._value(f"sext i1 {_NEVER} to {_integer(part)}")
        ones, indices = f"<{match[1]} x i1>", f"<{match[1]} x i32>"
        one = self._value(f"insertelement {ones} poison, i1 {_NEVER}, i32 0")
        everywhere = self._value(f"shufflevector {ones} {one}, {ones} poison, {indices} zeroinitializer")
        return self._value(f"sext {ones} {everywhere} to {_integer(part)}")

    def _sum(self, part: Part, value: str, difference: str) -> str:
        total = self._value(f"add {_integer(part)} {self._bits(part, value)}, {difference}")
        if part.kind == _integer(part):
            return total
        # Not by stepping on from a pointer: its target would be taken for a part of the previous one.
        cast = "inttoptr" if part.kind.startswith("ptr") else "bitcast"
        return self._value(f"{cast} {_integer(part)} {total} to {part.kind}")

    def _bits(self, part: Part, value: str) -> str:
        if part.kind == _integer(part):
            return value
        cast = "ptrtoint" if part.kind.startswith("ptr") else "bitcast"
        return self._value(f"{cast} {part.kind} {value} to {_integer(part)}")

    def _load(self, part: Part, of: str) -> str:
        return self._value(f"load {part.kind}, ptr %twins.{of}{self._numbers[part]}")

    def _store(self, part: Part, of: str, value: str) -> None:
        self._lines.append(f"store {part.kind} {value}, ptr %twins.{of}{self._numbers[part]}")

    def _value(self, text: str) -> str:
        self._serial += 1
        self._lines.append(f"%twins.n{self._serial} = {text}")
        return f"%twins.n{self._serial}"

    def _written(self) -> list[Instruction]:
        lines, self._lines = self._lines, []
        return [Instruction.parse(f"  {line}") for line in lines]


def _integer(part: Part) -> str:
    """The integer type of the same size."""
    if bits := scalar_bits(part.kind):
        return f"i{bits}"
    match = _VECTOR.match(part.kind)
    assert match is not None, part.kind
    return f"<{match[1]} x i{scalar_bits(match[2])}>"
