"""Precompiles headers that take NVRTC seconds to parse (cooperative groups, cub, libcu++), from their second use on.

A precompiled header only fits texts with the same beginning. So these headers are included ahead of the source, before the
macros that distinguish configurations; the source's own includes then do nothing, because of include guards. They must not
depend on what they now precede: an include under a condition, or after a macro other than a parameter's default, stays where it
is, and so do all later ones.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache

from warpsmith.core.configuration import Value
from warpsmith.devices._clang.preprocess import begins, definitions
from warpsmith.devices._clang.tokens import Kind, tokenize
from warpsmith.devices.cuda.nvrtc import bindings

_HEAVY = re.compile(r"[ \t]*#[ \t]*include[ \t]*<((?:cooperative_groups|cub/|cuda/|thrust/)[^>]*)>")
_OPENS = re.compile(r"[ \t]*#[ \t]*if(?:ndef[ \t]+(\w+)|\w*)")
_DEFINES = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
_CLOSES = re.compile(r"[ \t]*#[ \t]*endif")
_HEAP_BYTES = 512 << 20  # of addresses; cub needs more than what NVRTC begins with

_asked: Counter[tuple[str, ...]] = Counter()


def heavy_headers(source: str) -> tuple[str, ...]:
    """Those that may be included ahead of the source, in its order."""
    found: list[str] = []
    guards: list[str | None] = []
    for token in tokenize(source):
        if token.kind is not Kind.DIRECTIVE:
            continue
        if match := _OPENS.match(token.text):
            guards.append(match[1])
        elif _CLOSES.match(token.text):
            del guards[-1:]
        elif match := _DEFINES.match(token.text):
            if guards != [match[1]]:
                break
        elif match := _HEAVY.match(token.text):
            if guards:
                break
            found.append(match[1])
    return tuple(found)


def headers_that_pay(source: str, target: str) -> tuple[str, ...]:
    """None at the first request in this process: precompiling costs more than parsing once."""
    headers = heavy_headers(source)
    _asked[target, *headers] += 1
    return headers if _asked[target, *headers] > 1 else ()


def begun_with(headers: tuple[str, ...], source: str, name: str, defines: Mapping[str, Value]) -> str:
    first = "".join(f"#include <{header}>\n" for header in headers)
    return f"{first}#pragma nv_hdrstop\n{definitions(defines)}{begins(name)}{source}"


def precompiling() -> tuple[str, ...]:
    """NVRTC's options."""
    return ("--pch", f"--pch-dir={_folder().name}", "--pch-messages=false")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Lives as long as this process."""
    bindings().nvrtcSetPCHHeapSize(_HEAP_BYTES)
    return tempfile.TemporaryDirectory(prefix="warpsmith-headers-")
