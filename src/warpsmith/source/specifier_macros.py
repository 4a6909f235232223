"""Macros among the specifiers of a kernel, which the grammar would take for its name or its type.

    __global__ KERNEL_BOUNDS(THREADS) void softmax(…)      PUBLIC(2) __global__ void EXPORTED softmax(…)

A kernel returns nothing, so what stands beside `__global__` before its name is a specifier, whoever defines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_GLOBAL = re.compile(rb"\b__global__\b")
_SKIPPED = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/|\[\[.*?\]\])+", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_BEFORE = re.compile(rb"(?<!\w)(?P<word>[A-Za-z_]\w*)\s*(?:\([^()]*\)\s*)?$")
_KNOWN = frozenset({
    b"void", b"static", b"inline", b"extern", b"const", b"constexpr", b"__launch_bounds__", b"__global__", b"__device__",
    b"__host__", b"__forceinline__", b"__inline__", b"__noinline__", b"alignas", b"friend", b"public", b"private", b"auto",
    b"__cluster_dims__", b"__block_size__", b"__maxnreg__",
})  # fmt: skip
_FAR = 2000  # bytes that a declaration without its parameters may take


@dataclass(frozen=True, slots=True)
class _Word:
    text: bytes
    start: int
    end: int  # with its brackets
    is_call: bool


def without_specifier_macros(data: bytes) -> bytes:
    """The text with blanks where such macros stand, of the same length."""
    for word in [word for found in _GLOBAL.finditer(data) for word in _beside(data, found)]:
        data = data[: word.start] + re.sub(rb"[^\n]", b" ", data[word.start : word.end]) + data[word.end :]
    return data


def specifier_macros(data: bytes, name_start: int) -> list[str]:
    """Those of the kernel whose name begins there."""
    found = None
    for found in _GLOBAL.finditer(data, max(0, name_start - _FAR), name_start):  # noqa: B007 - the last one is wanted
        pass
    return [word.text.decode() for word in _beside(data, found)] if found is not None else []


def _beside(data: bytes, found: re.Match[bytes]) -> Iterator[_Word]:
    if _is_code(data, found.start()):
        words = (*_before(data, found.start()), *_behind(data, found.end()))
        yield from (word for word in words if word.text not in _KNOWN)


def _before(data: bytes, end: int) -> Iterator[_Word]:
    found = _BEFORE.search(data, max(0, end - _FAR), end)
    if found is not None and _is_code(data, found.start()):
        yield _Word(found["word"], found.start(), found.end(), is_call=False)


def _behind(data: bytes, place: int) -> list[_Word]:
    """Between `__global__` and the name, which is the last word that has brackets behind it, or an instance's angles."""
    words, limit = list[_Word](), min(len(data), place + _FAR)
    while place < limit:
        if (skipped := _SKIPPED.match(data, place)) is not None:
            place = skipped.end()
        elif (word := _WORD.match(data, place)) is not None:
            past = _past_brackets(data, word.end())
            words.append(_Word(word[0], word.start(), past or word.end(), past is not None))
            place = words[-1].end
        else:
            break
    last, ended = words[-1:], data[place : place + 1]
    named = bool(last) and (ended in {b"{", b";"} if last[0].is_call else ended == b"<")
    return words[:-1] if named else []


def _past_brackets(data: bytes, place: int) -> int | None:
    """One past the brackets that open here, behind blanks."""
    while data[place : place + 1].isspace():
        place += 1
    depth = 0
    for at in range(place, len(data)):
        depth += (data[at] == ord("(")) - (data[at] == ord(")"))
        if depth == 0:
            return at + 1 if at > place else None
    return None


def _is_code(data: bytes, place: int) -> bool:
    """Neither in a comment nor in a directive."""
    start = data.rfind(b"\n", 0, place) + 1
    while start > 1 and data[:start].rstrip(b"\r\n").endswith(b"\\"):
        start = data.rfind(b"\n", 0, start - 1) + 1
    line = data[start:place]
    return not line.lstrip().startswith(b"#") and b"//" not in line and data.rfind(b"/*", 0, place) <= data.rfind(b"*/", 0, place)
