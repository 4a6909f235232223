"""Macros by which a build switches code on: those whose `#ifdef` stands around a kernel, where nothing was said of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(.*?)[ \t]*(?://.*|/\*.*)?$", re.MULTILINE
)
_ASKED = re.compile(r"defined[ \t]*\(?[ \t]*(\w+)[ \t]*\)?|(\w+)")
_OTHER_MAKER = re.compile(r"HIP|ROCM|AMD|MUSA|SYCL|XPU", re.IGNORECASE)


def switches(kernel: str, texts: Mapping[Path, str]) -> dict[str, str]:
    """The macros, each with the value 1, that a kernel of that name stands under in one of the files; {} if there are none.

    Only plain questions count (`#ifdef USE_CUDA`, `#if defined(USE_CUDA)`, `#if USE_CUDA`): what else a condition may ask is not
    guessed, nor are builds for another maker's devices.
    """
    pattern = re.compile(rf"__global__[^;{{}}]*?\b{re.escape(kernel)}\s*\(")
    for text in texts.values():
        if match := pattern.search(text):
            names = list(_around(text, match.start()))
            return (
                {} if None in names or any(_OTHER_MAKER.search(name) for name in names if name) else {n: "1" for n in names if n}
            )
    return {}


def _around(text: str, position: int) -> Iterator[str | None]:
    """What the conditionals around a place ask for; "" is a header's guard, None any other condition, or not its first branch."""
    open_branches: list[str | None] = []
    for match in _DIRECTIVE.finditer(text, 0, position):
        word, condition = match[1], match[2]
        if word == "endif":
            open_branches[-1:] = []
        elif word in {"if", "ifdef", "ifndef"}:
            open_branches.append(_asked(word, condition, text[match.end() :]))
        elif open_branches:
            open_branches[-1] = None
    yield from open_branches


def _asked(word: str, condition: str, after: str) -> str | None:
    if word == "ifndef":
        return "" if re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(condition)}\b", after) else None
    match = _ASKED.fullmatch(condition)
    return (match[1] or match[2]) if match else None
