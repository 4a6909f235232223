"""Reads the sections, symbols and notes of 64-bit little-endian ELF files, where GPU binaries keep their facts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_NOTE = struct.Struct("<III")
_NOBITS = 8
_NOTES = 7
_OBJECT = 1  # the lower half of a symbol's `info`
# In NVIDIA's and AMD's files: writable sections in memory that outlives a kernel.
_WRITABLE = (".nv.global", ".nv.global.init", ".data", ".bss")
_COMPILERS_OWN = ("$", "__unnamed_", "__hip_cuid_")  # strings, and what keeps files apart


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    size: int
    data: bytes
    address: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """`section` is 0 for an undefined symbol."""

    name: str
    section: int
    value: int


@dataclass(frozen=True, slots=True)
class Note:
    owner: str
    kind: int
    body: bytes


class Elf:
    """Raises ValueError for anything that is not such a file."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_MAGIC) or len(data) < _HEADER.size:
            raise ValueError("not a 64-bit little-endian ELF file")
        fields = _HEADER.unpack_from(data)
        self._data = data
        self.abi_version: int = fields[0][8]
        self.machine: int = fields[2]
        self.flags: int = fields[7]
        self._table: int = fields[6]
        self._count: int = fields[12]
        self._names: int = fields[13]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        try:
            headers = [_SECTION.unpack_from(self._data, self._table + index * _SECTION.size) for index in range(self._count)]
        except struct.error as error:
            raise ValueError(f"the ELF file is cut off: {error}") from error
        names = self._bytes(headers[self._names]) if self._names < self._count else b""
        return tuple(Section(_text(names, header[0]), header[1], header[5], self._bytes(header), header[3]) for header in headers)

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """By index, as other sections refer to them."""
        table, names = self.section(".symtab"), self.section(".strtab")
        if table is None or names is None:
            return ()
        return tuple(Symbol(_text(names.data, entry[0]), entry[3], entry[4]) for entry in _SYMBOL.iter_unpack(table.data))

    @property
    def writable(self) -> dict[str, int]:
        """Global variables of the source that kernels can change, with their sizes."""
        table = self.section(".symtab")
        entries = _SYMBOL.iter_unpack(table.data) if table is not None else ()
        return {
            symbol.name: entry[5]
            for symbol, entry in zip(self.symbols, entries, strict=False)
            if entry[1] & 0xF == _OBJECT
            and symbol.section < len(self.sections)
            and self.sections[symbol.section].name in _WRITABLE
            and not symbol.name.startswith(_COMPILERS_OWN)
        }

    def pointee(self, name: str) -> str | None:
        """The symbol whose address the variable `name` holds, in an unlinked file."""
        variable = next((symbol for symbol in self.symbols if symbol.name == name and symbol.section), None)
        place = self.section(f".rela{self.sections[variable.section].name}") if variable is not None else None
        if variable is None or place is None:
            return None
        for offset, info, _ in _RELOCATION.iter_unpack(place.data):
            if offset == variable.value:
                return str(self.symbols[info >> 32].name)
        return None

    def missing(self, function: str) -> list[str]:
        """Undefined symbols of the function and its callees; each function has its own section."""
        code = {index for index, section in enumerate(self.sections) if section.name.startswith(".text")}
        waiting = [symbol.section for symbol in self.symbols if symbol.name == function]
        found: set[str] = set()
        while waiting:
            place = self.section(f".rela{self.sections[waiting.pop()].name}")
            for _, info, _ in _RELOCATION.iter_unpack(place.data) if place is not None else ():
                symbol = self.symbols[info >> 32]
                if symbol.section == 0:
                    found.add(symbol.name)
                elif symbol.section in code:
                    code.remove(symbol.section)
                    waiting.append(symbol.section)
        return sorted(found)

    def notes(self) -> Iterator[Note]:
        for section in self.sections:
            if section.kind != _NOTES:
                continue
            place = 0
            while place + _NOTE.size <= len(section.data):
                name_size, body_size, kind = _NOTE.unpack_from(section.data, place)
                name = place + _NOTE.size
                body = name + _aligned(name_size)
                yield Note(
                    section.data[name : name + name_size].rstrip(b"\0").decode(), kind, section.data[body : body + body_size]
                )
                place = body + _aligned(body_size)

    def _bytes(self, header: tuple[int, ...]) -> bytes:
        return b"" if header[1] == _NOBITS else self._data[header[4] : header[4] + header[5]]


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.find(b"\0", offset)].decode(errors="replace")


def _aligned(size: int) -> int:
    return (size + 3) & ~3
