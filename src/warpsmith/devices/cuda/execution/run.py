"""A launch, executed without a GPU: a few of its blocks, and their counts."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpsmith.core.hardware import Dim3, Geometry
from warpsmith.devices._elf import Elf
from warpsmith.devices.cuda.cubin import launch_bank, read_cubin
from warpsmith.devices.cuda.execution.code import read_instructions
from warpsmith.devices.cuda.execution.machine import Machine, Program
from warpsmith.devices.cuda.execution.memory import Contents, GlobalMemory
from warpsmith.devices.cuda.execution.slicing import sliced
from warpsmith.devices.cuda.execution.state import Constants
from warpsmith.devices.cuda.execution.tally import Tally
from warpsmith.devices.cuda.execution.timeline import Latencies

_VARIABLES = (".nv.global", ".nv.global.init")  # sections with the source's own variables
_STACK = 0x28  # in the constants of a launch: where the stack begins, at its upper end
_RESERVED_BYTES = 1 << 10  # of shared memory, below the kernel's own from compute capability 9.0 on
_LOCAL_BYTES = 1 << 12
"""Stack bytes beyond the kernel's request."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An argument: a buffer of so many bytes, None for the null pointer."""

    name: str
    nbytes: int | None


@dataclass(frozen=True, slots=True)
class Launch:
    """`arguments` are pointers, or the bytes of scalars."""

    cubin: bytes
    kernel: str
    geometry: Geometry
    arguments: Sequence[Pointer | bytes]
    constants: Mapping[str, bytes]


class Execution:
    """Raises UnsupportedFeature, naming what cannot be followed."""

    def __init__(self, launch: Launch, contents: Contents, *, cached_bytes: float, latencies: Latencies) -> None:
        facts = read_cubin(launch.cubin, launch.kernel)
        code = read_instructions(launch.cubin, launch.kernel)
        self.instructions = code.instructions
        slice_ = sliced(code.instructions)
        sizes = {a.name: a.nbytes for a in launch.arguments if isinstance(a, Pointer) and a.nbytes is not None}
        variables = {s.name: s for s in Elf(launch.cubin).sections if s.name in _VARIABLES}
        sizes |= {name: section.size for name, section in variables.items()}
        self.memory = GlobalMemory(
            sizes, lambda name: variables[name].data.ljust(variables[name].size, b"\0") if name in variables else contents(name)
        )
        local_bytes = facts.stack_bytes + _LOCAL_BYTES
        banks = _banks(launch, self.memory, local_bytes)
        program = Program(
            code,
            slice_,
            Constants(banks),
            launch.geometry,
            _RESERVED_BYTES + facts.static_shared_bytes + launch.geometry.shared_bytes,
            local_bytes,
        )
        self._machine = Machine(program, self.memory, cached_bytes / 32, latencies)

    def run(self, block: Dim3) -> Tally:
        self.memory.forget()
        return self._machine.run(block)


def _banks(launch: Launch, memory: GlobalMemory, local_bytes: int) -> dict[int, bytes]:
    elf = Elf(launch.cubin)
    first, _ = launch_bank(elf, launch.kernel)
    placed = bytearray(first + 4096)
    struct.pack_into("<6I", placed, 0, *launch.geometry.block, *launch.geometry.grid)
    struct.pack_into("<I", placed, _STACK, local_bytes)
    place = first
    for argument in launch.arguments:
        value = _bytes(argument, memory)
        place = -(-place // len(value)) * len(value)
        placed[place : place + len(value)] = value
        place += len(value)
    banks = {0: bytes(placed)}
    for number in (1, 2, 3):
        own = elf.section(f".nv.constant{number}.{launch.kernel}") or elf.section(f".nv.constant{number}")
        if own is not None:
            banks[number] = _filled(own.data, launch.constants, elf)
    banks[4] = _addresses(elf, memory)
    return banks


def _addresses(elf: Elf, memory: GlobalMemory) -> bytes:
    """The bank that holds the addresses of the source's own variables."""
    section = elf.section(".nv.constant4")
    if section is None:
        return b""
    image = bytearray(section.data)
    for name, entry in ((".rel.nv.constant4", "<QQ"), (".rela.nv.constant4", "<QQq")):
        moved = elf.section(name)
        for place, info, *added in struct.iter_unpack(entry, moved.data) if moved is not None else ():
            symbol = elf.symbols[info >> 32]
            buffer = memory.buffers.get(elf.sections[symbol.section].name)
            if buffer is not None:
                struct.pack_into("<Q", image, place, buffer.first + symbol.value + sum(added))
    return bytes(image)


def _bytes(argument: Pointer | bytes, memory: GlobalMemory) -> bytes:
    if isinstance(argument, bytes):
        return argument
    return struct.pack("<Q", 0 if argument.nbytes is None else memory.buffers[argument.name].first)


def _filled(data: bytes, constants: Mapping[str, bytes], elf: Elf) -> bytes:
    """The image of user constants, with those that the harness fills."""
    image = bytearray(data)
    for symbol in elf.symbols:
        value = constants.get(symbol.name)
        if value is not None:
            image[symbol.value : symbol.value + len(value)] = value
    return bytes(image)
