"""Sets aside device code that clang refuses, so that it only affects kernels that use it. Line numbers stay.

A file often holds a kernel with textures or tensor cores next to a plain one. Another *kernel* that does not compile is
blanked: nothing can call it. A device *function* keeps its declaration, because without it a call might silently pick another
overload; its body becomes a call of a marker, and a kernel that reaches it is refused with clang's error
(`Sources.refuse_set_aside`). Only a declaration that names an unknown type (`f(at::Half)`, `struct Traits<c10::Half>`) is
removed entirely: no code that compiles can use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from warpsmith.devices._clang.items import Item, blank, device_words, split
from warpsmith.devices._clang.preprocess import Diagnostic
from warpsmith.devices._clang.tokens import Kind, Token, tokenize

MARKER = "__warpsmith_set_aside"
DECLARATION = f'extern "C" __attribute__((host, device)) void {MARKER}();\n'
UNKNOWN = re.compile(r"unknown type name|use of undeclared identifier|no (?:type|template|member) named|undeclared template")
_CONFLICT = re.compile(r"redefinition|redeclar|conflict|ambiguous|overload")


def without_refused_code(text: str, errors: Sequence[Diagnostic], entry: str) -> str | None:
    """None if the errors of this file lie elsewhere. `entry` is the wanted kernel, which stays."""
    tokens = list(tokenize(text))
    name = entry.partition("<")[0].rpartition("::")[2].strip()
    edits: list[tuple[int, int, str]] = []
    items = list(split(tokens))
    places = {_offset(text, error): error for error in errors}
    for item in items:
        start, end = item.span
        body = item.body[0].start if item.body else end
        in_head = [error for place, error in places.items() if place is not None and start <= place < body]
        if (item.is_class or _is_only_constant_of_its_name(item, tokens)) and _names_unknown_type(in_head):
            edits.append((start, end, _blanked(text[start:end])))
    gone = {start for start, _, _ in edits}
    for item in _functions((item for item in items if item.span[0] not in gone), device_words(tokens)):
        refused = [error for error in errors if error.line in item.lines]
        is_kernel = any(token.text == "__global__" for token in item.head)
        if not refused or (is_kernel and any(token.text == name for token in item.head)):
            continue
        in_body = [error.line for error in refused if item.body and error.line >= item.body[0].line]
        if in_body and not is_kernel and not any(token.text == MARKER for token in item.body):
            start, end = item.body[0].start, item.body[-1].end
            edits.append((start, end, _marker_body(text[start:end], in_body[0] - item.body[0].line)))
        elif is_kernel or _names_unknown_type(refused):
            start, end = item.span
            edits.append((start, end, _blanked(text[start:end])))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text if edits else None


def _is_only_constant_of_its_name(item: Item, tokens: Sequence[Token]) -> bool:
    """A `constexpr` variable that no variable of the same name in an outer scope could replace."""
    texts = [token.text for token in item.tokens]
    if item.body or "constexpr" not in texts or "=" not in texts or _is_function(item):
        return False
    names = [one.text for one, following in pairwise(item.tokens) if following.text == "=" and one.kind is Kind.WORD]
    declared = [one.text for one, following in pairwise(tokens) if following.text in {"=", "{", ";", "["}]
    return bool(names) and declared.count(names[-1]) == 1


def _offset(text: str, error: Diagnostic) -> int | None:
    """Offset of an error in the text. Columns count bytes: after non-ASCII characters on its line the position is unreliable."""
    lines = text.split("\n", error.line)
    if error.column is None or len(lines) < error.line or not lines[error.line - 1].isascii():
        return None
    return sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1


def _names_unknown_type(errors: Sequence[Diagnostic]) -> bool:
    return any(UNKNOWN.search(error.text) for error in errors) and not any(_CONFLICT.search(error.text) for error in errors)


def _functions(items: Iterable[Item], marks: frozenset[str]) -> Iterator[Item]:
    """Device functions, including those in classes."""
    for item in items:
        if item.is_class:
            yield from _functions(split(item.body[1:-1]), marks)
        elif item.is_marked(marks) and _is_function(item):
            yield item


def _is_function(item: Item) -> bool:
    head = [token.text for token in item.head]
    return "(" in head and (bool(item.body) or "=" not in head)


def _marker_body(body: str, line: int) -> str:
    """A body with the marker on the line of clang's error, if it has no directive."""
    lines = _blanked(body[1:-1]).split("\n")
    index = line if not lines[line].strip() else 0
    lines[index] = f"{MARKER}();{lines[index]}"
    return "{" + "\n".join(lines) + "}"


def _blanked(text: str) -> str:
    return blank(text, [(0, len(text))])
