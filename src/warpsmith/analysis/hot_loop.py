"""The hottest loops of machine code: innermost ones, deep in nests; one as instructions, the others as counts of what they do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_TARGET = re.compile(r"@(\d+)")
_MOST_LINES = 48
_MOST_KINDS = 14
_LEAST = 3  # instructions: a shorter one is no work
# Vectors of the CPU; of a GPU, where each thread's instruction is one for a warp, arithmetic on floats and wide loads.
_WIDE = re.compile(r"\b[yz]mm\d+|^v(?:fn?m|add|sub|mul|div)\w*p[sd]\b|\.(?:64|128)\b|\bF(?:FMA|ADD|MUL)\b|\bHFMA2")


@dataclass(frozen=True, slots=True)
class Loop:
    """`first` to `last` are numbers of instructions; `depth` counts the loops around it, itself included."""

    first: int
    last: int
    depth: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def hot_loops(instructions: Sequence[str], most: int = 5) -> list[Loop]:
    """The innermost loops, the hottest first as far as code tells: more vectors or arithmetic, deeper in nests."""
    spans: dict[int, int] = {}
    for place, text in enumerate(instructions):
        target = _TARGET.search(text)
        if target is not None and (first := int(target[1])) <= place:
            spans[first] = max(place, spans.get(first, 0))
    loops = []
    for first, last in spans.items():
        others = [(a, b) for a, b in spans.items() if (a, b) != (first, last)]
        if last - first + 1 >= _LEAST and not any(first <= a and b <= last for a, b in others):
            loops.append(Loop(first, last, 1 + sum(a <= first and last <= b for a, b in others)))
    return sorted(loops, key=lambda loop: _heat(loop, instructions), reverse=True)[:most]


def _heat(loop: Loop, instructions: Sequence[str]) -> tuple[int, int]:
    """What is left over for one thread at a time, or turns a mask into branches, may nest as deep as the work itself."""
    wide = sum(_WIDE.search(text) is not None for text in instructions[loop.first : loop.last + 1])
    return wide * loop.depth, loop.depth


def hot_loops_text(instructions: Sequence[str], shown: int = 1) -> str:
    """In words, with the instructions of the loop of that number; empty where the code has no loop.

    How often a loop runs cannot be read from code: its reader knows, by what it does, whether the first one is the hot one.
    """
    loops = hot_loops(instructions)
    chosen = shown if 1 <= shown <= len(loops) else 1
    listed = [f"loop {n}: {_counted(loop, instructions)}" for n, loop in enumerate(loops, start=1)]
    return "\n".join([*listed, *_body(chosen, loops[chosen - 1], instructions)]) if loops else ""


def _counted(loop: Loop, instructions: Sequence[str]) -> str:
    body = instructions[loop.first : loop.last + 1]
    # What a predicate guards is counted as what it is.
    kinds = Counter(next(word for word in text.split() if not word.startswith("@")) for text in body)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_KINDS))
    return f"{loop.length} instructions, {loop.depth} deep: {listed}"


def _body(number: int, loop: Loop, instructions: Sequence[str]) -> list[str]:
    body = instructions[loop.first : loop.last + 1]
    shown = body if len(body) <= _MOST_LINES else [*body[: _MOST_LINES // 2], "…", *body[-_MOST_LINES // 2 :]]
    return [
        f"loop {number} in full:" if shown is body else f"loop {number}, its beginning and its end:",
        *(f"  {t}" for t in shown),
    ]
