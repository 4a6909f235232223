"""Sets aside device code that clang refuses, so that it counts only against kernels that use it. Line numbers stay.

A file often holds a kernel with textures or tensor cores next to a plain one. Another *kernel* that does not compile is blanked:
nothing can call it. A device *function* keeps its declaration, for without it a call might silently pick another overload; its
body becomes a call of a marker, and a kernel that reaches that is refused with what clang said (`Sources.refuse_set_aside`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from warpsmith.devices._clang.tokens import tokenize
from warpsmith.devices.cpu.items import Item, blank, device_words, split

MARKER = "__warpsmith_set_aside"
DECLARATION = f'extern "C" __attribute__((host, device)) void {MARKER}();\n'


def without_refused_code(text: str, lines: Collection[int], entry: str) -> str | None:
    """None if no other kernel and no function body is on these lines. `entry` is the kernel that is wanted: it stays."""
    tokens = list(tokenize(text))
    name = entry.partition("<")[0].rpartition("::")[2].strip()
    edits: list[tuple[int, int, str]] = []
    for item in _functions(split(tokens), device_words(tokens)):
        refused = [line for line in lines if line in item.lines]
        if not refused:
            continue
        if any(token.text == "__global__" for token in item.head):
            if not any(token.text == name for token in item.head):
                start, end = item.span
                edits.append((start, end, _blanked(text[start:end])))
        elif item.body and (inside := [line for line in refused if line >= item.body[0].line]):
            start, end = item.body[0].start, item.body[-1].end
            edits.append((start, end, _marker_body(text[start:end], inside[0] - item.body[0].line)))
    for start, end, replacement in reversed(edits):
        text = text[:start] + replacement + text[end:]
    return text if edits else None


def _functions(items: Iterable[Item], marks: frozenset[str]) -> Iterator[Item]:
    """Functions for the device, those of classes included."""
    for item in items:
        if item.is_class:
            yield from _functions(split(item.body[1:-1]), marks)
        elif item.is_marked(marks):
            yield item


def _marker_body(body: str, line: int) -> str:
    """A body with the marker on the line that clang refused, if there is no directive."""
    lines = _blanked(body[1:-1]).split("\n")
    index = line if not lines[line].strip() else 0
    lines[index] = f"{MARKER}();{lines[index]}"
    return "{" + "\n".join(lines) + "}"


def _blanked(text: str) -> str:
    return blank(text, [(0, len(text))])
