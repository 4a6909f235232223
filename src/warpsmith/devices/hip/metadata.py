"""Reads a code object's kernel facts: the note for AMD's runtime, which is MessagePack inside ELF."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices._elf import Elf, Section

_OWNER = "AMDGPU"
_METADATA = 32
_HIDDEN = "hidden_"
_RUNS = (".text", ".rodata", ".data", ".bss")
_DESCRIPTOR, _ENTRY_AT, _ENTRY_BYTES = ".kd", 16, 8  # LLVM's "Code Object V3 Kernel Descriptor"


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """`vector_registers` is a lane's total, including accumulation registers where they share one file."""

    vector_registers: int
    accumulation_registers: int
    scalar_registers: int
    spilled_vector_registers: int
    spilled_scalar_registers: int
    shared_bytes: int
    stack_bytes: int
    wave_size: int
    max_threads: int
    parameter_bytes: tuple[int, ...]


def read_code_object(code: bytes, kernel: str) -> KernelFacts:
    """`kernel` is the mangled name. Raises ValueError if it is not a code object or has no such kernel."""
    kernels = [
        entry for note in Elf(code).notes() if note.owner == _OWNER and note.kind == _METADATA for entry in _kernels(note.body)
    ]
    facts = next((entry for entry in kernels if entry[".name"] == kernel), None)
    if facts is None:
        raise ValueError(f"the code object has no kernel {kernel}")
    return KernelFacts(
        vector_registers=facts[".vgpr_count"],
        accumulation_registers=facts.get(".agpr_count", 0),
        scalar_registers=facts[".sgpr_count"],
        spilled_vector_registers=facts[".vgpr_spill_count"],
        spilled_scalar_registers=facts[".sgpr_spill_count"],
        shared_bytes=facts[".group_segment_fixed_size"],
        stack_bytes=facts[".private_segment_fixed_size"],
        wave_size=facts[".wavefront_size"],
        max_threads=facts[".max_flat_workgroup_size"],
        parameter_bytes=tuple(a[".size"] for a in facts.get(".args", ()) if not a[".value_kind"].startswith(_HIDDEN)),
    )


def machine_code(code: bytes, kernel: str) -> str:
    """A fingerprint of executed code, its data and descriptors. Raises ValueError as above."""
    elf = Elf(code)
    descriptors = [symbol.value for symbol in elf.symbols if symbol.name.endswith(_DESCRIPTOR)]
    sections = [(s.name, s.size, _placeless(s, descriptors).hex()) for s in elf.sections if s.name in _RUNS]
    return fingerprint(asdict(read_code_object(code, kernel)), sections)


def _placeless(section: Section, descriptors: list[int]) -> bytes:
    """Without the distance of each descriptor from its code, which depends on the lengths of names."""
    data = bytearray(section.data)
    for address in descriptors:
        place = address - section.address + _ENTRY_AT
        if _ENTRY_AT <= place < len(data):
            data[place : place + _ENTRY_BYTES] = bytes(_ENTRY_BYTES)
    return bytes(data)


def _kernels(body: bytes) -> list[dict[str, Any]]:
    value, _ = _unpacked(body, 0)
    kernels: list[dict[str, Any]] = value["amdhsa.kernels"]
    return kernels


def _unpacked(data: bytes, place: int) -> tuple[Any, int]:  # noqa: PLR0911 - one for each kind
    """One MessagePack value and the position of the next; only the kinds used in the note."""
    head = data[place]
    place += 1
    if head <= 0x7F:
        return head, place
    if head <= 0x8F:
        return _mapping(data, place, head & 0x0F)
    if head <= 0x9F:
        return _array(data, place, head & 0x0F)
    if head <= 0xBF:
        return _string(data, place, head & 0x1F)
    if head >= 0xE0:
        return head - 0x100, place
    constant = {0xC0: None, 0xC2: False, 0xC3: True}
    if head in constant:
        return constant[head], place
    if head in _NUMBERS:
        form = _NUMBERS[head]
        return form.unpack_from(data, place)[0], place + form.size
    if head not in _SIZED:
        raise ValueError(f"MessagePack kind 0x{head:02x} does not belong into this note")
    form, read = _SIZED[head]
    return read(data, place + form.size, form.unpack_from(data, place)[0])


def _mapping(data: bytes, place: int, count: int) -> tuple[dict[Any, Any], int]:
    found: dict[Any, Any] = {}
    for _ in range(count):
        key, place = _unpacked(data, place)
        found[key], place = _unpacked(data, place)
    return found, place


def _array(data: bytes, place: int, count: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        value, place = _unpacked(data, place)
        found.append(value)
    return found, place


def _string(data: bytes, place: int, size: int) -> tuple[str, int]:
    return data[place : place + size].decode(), place + size


_NUMBERS = {
    head: struct.Struct(f">{form}")
    for head, form in {
        0xCA: "f",
        0xCB: "d",
        0xCC: "B",
        0xCD: "H",
        0xCE: "I",
        0xCF: "Q",
        0xD0: "b",
        0xD1: "h",
        0xD2: "i",
        0xD3: "q",
    }.items()
}
_SIZED: dict[int, tuple[struct.Struct, Callable[[bytes, int, int], tuple[Any, int]]]] = {
    0xD9: (struct.Struct(">B"), _string),
    0xDA: (struct.Struct(">H"), _string),
    0xDB: (struct.Struct(">I"), _string),
    0xDC: (struct.Struct(">H"), _array),
    0xDD: (struct.Struct(">I"), _array),
    0xDE: (struct.Struct(">H"), _mapping),
    0xDF: (struct.Struct(">I"), _mapping),
}
