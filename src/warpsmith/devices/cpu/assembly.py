"""Removes inline assembly before clang parses it: PTX constraints are invalid on this target, even in unused code.

Known PTX becomes C++ (`ptx`). Any other statement becomes a call of a marker function with the unknown instruction; `refusals`
finds the markers that the kernel reaches. An empty statement (a compiler barrier) is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from warpsmith.core.brackets import ROUND, until_closed
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.devices.cpu.ptx import statement, translate
from warpsmith.devices.cpu.ptx.operands import UnknownPtxError

MARKER = "__warpsmith_inline_assembly"
DECLARATION = f'extern "C" __attribute__((host, device)) void {MARKER}(...);\n'
_KEYWORDS = frozenset({"asm", "__asm__", "__asm"})
_LETTERS = 8  # in a number of 64 bits
_QUALIFIERS = frozenset({"volatile", "__volatile__", "__volatile", "goto", "inline"})


def without_assembly(text: str) -> str:
    """Line numbers stay."""
    if not re.search(r"\b(?:asm|__asm__|__asm)\b", text):
        return text
    tokens = list(tokenize(text))
    pieces: list[str] = []
    position = 0
    for index, token in enumerate(tokens):
        if token.text in _KEYWORDS and token.kind is Kind.WORD and (end := _statement_end(tokens, index)) is not None:
            whole = text[token.start : tokens[end].end]
            replacement = _replacement(tokens[_opening(tokens, index) + 1 : end])
            pieces += [text[position : token.start], replacement, "\n" * whole.count("\n")]
            position = tokens[end].end
    return "".join(pieces) + text[position:]


def headers(texts: Iterable[str]) -> str:
    """Includes needed by texts whose assembly was replaced."""
    needed = {name for text in texts for name, sign in translate.HEADERS.items() if sign in text}
    return "".join(f'#include "{name}"\n' for name in sorted(needed))


def _replacement(tokens: list[Token]) -> str:
    if tokens[0].text == '""':
        return "((void)0)"
    parsed = statement.parsed(tokens)
    try:
        return translate.translated(parsed) if parsed is not None else f"{MARKER}()"
    except UnknownPtxError as unknown:
        return f"{MARKER}({', '.join(_as_numbers(str(unknown)))})"


def _as_numbers(name: str) -> Iterator[str]:
    """A name as integer arguments that remain in the IR: eight letters per number."""
    for start in range(0, len(name), _LETTERS):
        yield f"{int.from_bytes(name[start : start + _LETTERS].encode(), 'big')}ul"


def marked(call: str) -> str | None:
    """The unknown instruction of a marker call in the IR; None without a marker, empty if the instruction has no name."""
    found = re.search(rf"@{MARKER}\((.*?)\)", call)
    if found is None:
        return None
    numbers = (int(number) for number in re.findall(r"i64 (?:\w+ )*(\d+)", found[1]))
    return b"".join(number.to_bytes(_LETTERS, "big").lstrip(b"\0") for number in numbers).decode()


def _opening(tokens: list[Token], index: int) -> int:
    index += 1
    while index < len(tokens) and tokens[index].text in _QUALIFIERS:
        index += 1
    return index


def _statement_end(tokens: list[Token], index: int) -> int | None:
    """The closing parenthesis; None if this is not an assembly statement (`register int x asm("r1")` never is on a GPU)."""
    position = _opening(tokens, index)
    if position + 1 >= len(tokens) or tokens[position].text != "(" or tokens[position + 1].kind is not Kind.STRING:
        return None
    taken = until_closed((tokens[place].text for place in range(position, len(tokens))), ROUND)
    return None if taken is None else position + taken - 1
