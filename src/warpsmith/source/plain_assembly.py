"""Assembly that C++ has words for, said in C++.

    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(y) : "f"(x), "r"(mask));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(r) : "l"(p));

become

    y = __shfl_xor_sync(0xffffffff, x, mask);
    lane = threadIdx.x % 32u;
    r = *p;

in the kernel and in the functions of the file that it reaches. What is left out are hints: which caches keep a line. A load that
is not `.nc` stays where threads may wait for values that other threads write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.source.assembly import instructions
from warpsmith.source.kernel import KernelSource
from warpsmith.source.pointer_types import declared_as
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import Edit, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

WARP = 32
_SHUFFLE = re.compile(r"shfl\.sync\.(?P<way>bfly|down|up|idx)\.b32")
_WAYS = {"bfly": "_xor", "down": "_down", "up": "_up", "idx": ""}
_LANE = re.compile(r"mov\.[usb]32")
_ACCESS = re.compile(
    r"(?P<what>ld|st)(?P<how>(?:\.(?:weak|global|nc|c[ags]|lu|w[bt]|L[12]::\w+))*)"
    r"(?:\.v(?P<count>[24]))?\.(?P<kind>[busf])(?P<bits>8|16|32|64)"
)
_PREFETCH = re.compile(r"prefetchu?(?:\.(?:global|L[12](?:::\w+)?))+")
_ADDRESS = re.compile(r"\[\s*%(?P<operand>\d+)\s*(?:\+\s*(?P<offset>\d+)\s*)?\]")
_MAY_WAIT = re.compile(
    r"\b(?:volatile(?!\s*\()|__threadfence\w*|__nanosleep|atom\w*)\b|cuda::atomic|\.(?:acquire|release|volatile)\b"
)
# By register, kind and bits: what C++ calls an element, and how its vectors begin.
_ELEMENTS = {
    ("r", "s", 32): ("int", "int"), ("r", "u", 32): ("unsigned", "uint"), ("r", "b", 32): ("unsigned", "uint"),
    ("f", "f", 32): ("float", "float"), ("f", "b", 32): ("float", "float"), ("d", "f", 64): ("double", "double"),
    ("d", "b", 64): ("double", "double"), ("l", "s", 64): ("long long", "longlong"),
    ("l", "u", 64): ("unsigned long long", "ulonglong"), ("l", "b", 64): ("unsigned long long", "ulonglong"),
    ("h", "s", 16): ("short", "short"),
    ("h", "u", 16): ("unsigned short", "ushort"), ("h", "b", 16): ("unsigned short", "ushort"),
    ("r", "u", 8): ("unsigned char", ""), ("h", "u", 8): ("unsigned char", ""), ("r", "s", 8): ("signed char", ""),
    ("r", "u", 16): ("unsigned short", ""), ("r", "s", 16): ("short", ""),
}  # fmt: skip
_SIGNED = {"uint": "int", "ulonglong": "longlong", "ushort": "short"}
_MOST_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Operand:
    register: str  # r, h, l, f or d
    value: Node


def with_plain_assembly(source: KernelSource, block_axes: int, block: Sequence[str]) -> str:
    """The whole file's text; `block` are the launch's extents, where they are known."""
    if source.language is Language.OPENCL or "asm" not in source.text:
        return source.text
    whole_rows = block_axes == 1 or (len(block) > 0 and _is_whole(block[0]))
    return source.edited(*_edits(source, whole_rows=whole_rows))


def _edits(source: KernelSource, *, whole_rows: bool) -> Iterator[Edit]:
    bodies = source.reached()
    texts = [re.sub(r"\b(?:asm|__asm(?:__)?)\s+volatile\b", "asm", source.text_of(body)) for body in bodies]
    may_wait = any(map(_MAY_WAIT.search, texts))
    found = {assembly.start_byte: assembly for body in bodies for assembly in of_kind(body, "gnu_asm_expression")}
    reader = _Reader(source, whole_rows=whole_rows, may_wait=may_wait)
    for assembly in found.values():
        said = reader.said(assembly)
        if said is not None:
            yield Edit(assembly.start_byte, assembly.end_byte, said)
    yield from (Edit(start, end, "") for start, end in reader.promises)


class _Reader:
    """Of one piece of assembly."""

    def __init__(self, source: KernelSource, *, whole_rows: bool, may_wait: bool) -> None:
        self._source = source
        self._whole_rows = whole_rows
        self._may_wait = may_wait
        self.promises: set[tuple[int, int]] = set()  # a parameter's `const` that the store behind it breaks

    def said(self, assembly: Node) -> str | None:
        found = instructions(assembly)
        operands = _operands(assembly)
        if found is None or len(found) != 1 or operands is None:
            return None
        name, given = found[0]
        if (shuffle := _SHUFFLE.fullmatch(name)) is not None:
            return self._shuffle(_WAYS[shuffle["way"]], given, operands)
        if _LANE.fullmatch(name) and len(given) == 2 and re.fullmatch("%%?laneid", given[1]) and self._whole_rows:
            return f"{self._text(operands[0])} = threadIdx.x % {WARP}u" if given[0] == "%0" and len(operands) == 1 else None
        if _PREFETCH.fullmatch(name) and len(given) == 1:
            return "(void)0"
        access = _ACCESS.fullmatch(name)
        is_plain = access is not None and ".global" in access["how"] and (".nc" in access["how"] or not self._may_wait)
        return self._access(access, given, operands) if access is not None and (access["what"] == "st" or is_plain) else None

    def _shuffle(self, way: str, given: list[str], operands: list[_Operand]) -> str | None:
        places = [_place(text, operands) for text in given[:3]]
        if len(given) != 5 or places[0] is None or places[1] is None or places[0].register != places[1].register:
            return None
        clamp, mask = _number(given[3]), _number(given[4])
        width = WARP - (clamp >> 8) if clamp is not None else 0
        by = self._text(places[2]) if places[2] is not None else given[2] if _number(given[2]) is not None else None
        right = clamp is not None and clamp & 0xFF == (0 if way == "_up" else WARP - 1) and width in {2, 4, 8, 16, 32}
        if not right or mask is None or by is None or places[0].register not in {"r", "f"}:
            return None
        narrow = "" if width == WARP else f", {width}"
        return f"{self._text(places[0])} = __shfl{way}_sync({mask & 0xFFFFFFFF:#x}, {self._text(places[1])}, {by}{narrow})"

    def _access(self, access: re.Match[str], given: list[str], operands: list[_Operand]) -> str | None:
        is_load, count, bits = access["what"] == "ld", int(access["count"] or 1), int(access["bits"])
        if len(given) != 2 or ".global" not in access["how"]:
            return None
        listed, at = (given[0], given[1]) if is_load else (given[1], given[0])
        values = [_place(text.strip(), operands) for text in listed.strip("{} ").split(",")]
        address = _ADDRESS.fullmatch(at)
        known = [value for value in values if value is not None]
        if address is None or len(known) < len(values) or len(values) != count or len({v.register for v in known}) != 1:
            return None
        element, vector = _ELEMENTS.get((known[0].register, access["kind"], bits), ("", ""))
        where = _place(f"%{address['operand']}", operands)
        if not element or (count > 1 and not vector) or count * bits > _MOST_BYTES * 8 or where is None or where.register != "l":
            return None
        texts = [self._text(value) for value in known]
        whole = self._whole(texts, vector, count, known[0].value) if count > 1 else None
        kind = whole[1] if whole is not None else element if count == 1 else f"{vector}{count}"
        place = self._place(where, kind, int(address["offset"] or 0), is_load=is_load)
        one = whole[0] if whole is not None else texts[0] if count == 1 else None
        if place is None:
            return None
        if is_load:
            parts = (f"{text} = ({place}).{axis}" for text, axis in zip(texts, "xyzw", strict=False))
            return f"{one} = {place}" if one is not None else ", ".join(parts)
        return f"{place} = {one if one is not None else f'make_{kind}(' + ', '.join(texts) + ')'}"

    def _whole(self, texts: list[str], vector: str, count: int, first: Node) -> tuple[str, str] | None:
        """The variable whose parts these are, all of them, and its type."""
        name = texts[0].removesuffix(".x")
        if not name.isidentifier() or texts != [f"{name}.{axis}" for axis in "xyzw"[:count]]:
            return None
        kind = declared_as(name, first, self._source.scopes)
        return (name, kind) if kind in {f"{vector}{count}", f"{_SIGNED.get(vector, vector)}{count}"} else None

    def _place(self, where: _Operand, kind: str, offset: int, *, is_load: bool) -> str | None:
        pointer = self._text(where)
        declared = declared_as(pointer, where.value, self._source.scopes) if pointer.isidentifier() else None
        if declared is not None and declared.startswith("const ") and not is_load:
            promise = self._promise(pointer, where.value)
            if promise is None:
                return None
            self.promises.add(promise)
            declared = declared.removeprefix("const ")
        constant = "const " if is_load else ""
        if offset:
            return f"*({constant}{kind}*)(({constant}char*)({pointer}) + {offset})"
        if declared in ({f"{kind}*", f"const {kind}*"} if is_load else {f"{kind}*"}):
            return f"*{pointer}"
        return f"*({constant}{kind}*)({pointer})"

    def _promise(self, pointer: str, use: Node) -> tuple[int, int] | None:
        """Where a parameter of a function is declared `const`."""
        found = self._source.scopes.declaration(pointer, use)
        if found is None or found.origin is not Origin.PARAMETER or is_within(use, self._source.function):
            return None
        word = next((c for c in found.node.children if c.type == "type_qualifier" and text_of(c) == "const"), None)
        return (word.start_byte, word.end_byte + 1) if word is not None else None

    def _text(self, operand: _Operand) -> str:
        return self._source.text_of(operand.value)


def _operands(assembly: Node) -> list[_Operand] | None:
    """In the order of their numbers; None where one is more than read, or written, once."""
    found = []
    for operand in of_kind(assembly, "gnu_asm_output_operand", "gnu_asm_input_operand"):
        constraint = text_of(field(operand, "constraint")).strip('"')
        plain = re.fullmatch("=?&?([rhlfd])" if operand.type.endswith("output_operand") else "([rhlfd])", constraint)
        if plain is None or operand.child_by_field_name("symbol") is not None:
            return None
        found.append(_Operand(plain[1], field(operand, "value")))
    return found


def _place(text: str, operands: Sequence[_Operand]) -> _Operand | None:
    number = re.fullmatch(r"%(\d+)", text.strip())
    return operands[int(number[1])] if number is not None and int(number[1]) < len(operands) else None


def _number(text: str) -> int | None:
    found = re.fullmatch(r"-1|(?:0[xX][0-9a-fA-F]+|\d+)[uU]?", text.strip())
    return int(found[0].rstrip("uU"), 0) if found is not None else None


def _is_whole(extent: str) -> bool:
    """Whether rows of so many threads are whole warps."""
    return extent.isdigit() and int(extent) > 0 and int(extent) % WARP == 0
