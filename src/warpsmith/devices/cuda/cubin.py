"""Reads a cubin's (ELF, machine 190) kernel facts: registers, shared memory, stack, barriers, launch bounds."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices._elf import Elf

_MACHINE = 190
# From compute capability 9.0 on the section's size includes what the system reserves per block; `ptxas -v` excludes it.
_RESERVED_FROM = 90
_RESERVED_BYTES = 1024

# Attributes of `.nv.info` (for all symbols) and `.nv.info.<kernel>`, by number.
_MAX_THREADS = 0x05
_REQUIRED_BLOCK = 0x10
_FRAME_SIZE = 0x11
_PARAMETER_BANK = 0x0A
_PARAMETER = 0x17
_REGISTERS = 0x2F
_BARRIERS = 0x4C
_WITH_SIZE = 0x04  # how an attribute's value is given: a length and so many bytes; the others put it into the length's place


@dataclass(frozen=True, slots=True)
class CubinFacts:
    """One kernel of a cubin. `max_threads` is the block size in `__launch_bounds__`, None without it."""

    registers: int
    stack_bytes: int
    static_shared_bytes: int
    barriers: int
    max_threads: int | None
    parameter_bytes: tuple[int, ...]  # the size of each parameter, in order


def read_cubin(cubin: bytes, kernel: str) -> CubinFacts:
    """`kernel` is the lowered (mangled) name. Raises ValueError for bytes that are no cubin or have no such kernel."""
    elf = Elf(cubin)
    if elf.machine != _MACHINE:
        raise ValueError(f"not a cubin: ELF machine {elf.machine} instead of {_MACHINE}")
    general, own = elf.section(".nv.info"), elf.section(f".nv.info.{kernel}")
    index = next((place for place, symbol in enumerate(elf.symbols) if symbol.name == kernel), None)
    if general is None or own is None or index is None:
        raise ValueError(f"the cubin has no kernel {kernel}")
    of_symbol = {
        kind: struct.unpack_from("<II", value)[1] for kind, value in _attributes(general.data) if _symbol(value) == index
    }
    of_kernel = dict(_attributes(own.data))
    shared = elf.section(f".nv.shared.{kernel}")
    reserved = _RESERVED_BYTES if architecture(elf) >= _RESERVED_FROM else 0
    block = of_kernel.get(_MAX_THREADS) or of_kernel.get(_REQUIRED_BLOCK)
    return CubinFacts(
        registers=of_symbol[_REGISTERS],
        stack_bytes=of_symbol.get(_FRAME_SIZE, 0),
        static_shared_bytes=max(0, shared.size - reserved) if shared is not None else 0,
        barriers=of_kernel[_BARRIERS][0] if _BARRIERS in of_kernel else 0,
        max_threads=_product(struct.unpack_from("<III", block)) if block else None,
        parameter_bytes=_parameter_bytes(own.data),
    )


def launch_bank(elf: Elf, kernel: str) -> tuple[int, int]:
    """Position of a launch's parameters in the constant bank, and their size in bytes."""
    own = elf.section(f".nv.info.{kernel}")
    value = dict(_attributes(own.data)).get(_PARAMETER_BANK) if own is not None else None
    if value is None:
        raise ValueError(f"the cubin has no parameter positions for {kernel}")
    _, place, size = struct.unpack_from("<IHH", value)
    return place, size


def architecture(elf: Elf) -> int:
    """As in `sm_90`."""
    return (elf.flags >> 8) & 0xFF if elf.abi_version >= 8 else elf.flags & 0xFF


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, place)
        place += 4
        if form == _WITH_SIZE:
            yield kind, data[place : place + size]
            place += size
        else:
            yield kind, size.to_bytes(2, "little")


def _parameter_bytes(data: bytes) -> tuple[int, ...]:
    """Each entry: an index, the parameter's number and offset, then flags with the size in their upper 14 bits."""
    entries = (struct.unpack_from("<IHHI", value) for kind, value in _attributes(data) if kind == _PARAMETER)
    return tuple(flags >> 18 for _, _, _, flags in sorted(entries, key=lambda entry: entry[1]))


def _symbol(value: bytes) -> int | None:
    return int(struct.unpack_from("<I", value)[0]) if len(value) == 8 else None


def _product(numbers: tuple[int, ...]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product
