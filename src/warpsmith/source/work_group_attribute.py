"""What `reqd_work_group_size` says of the block: a launch of another size is an error.

The attribute is masked before the source is parsed, so it is read off the text in front of the kernel's body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import field

_ATTRIBUTE = re.compile(rb"\breqd_work_group_size\s*\(")
_SIZE = rb"([^(),]+|[^(),]*(?:\([^(),]*\)[^(),]*)+)"
_SIZES = re.compile(rb"\breqd_work_group_size\s*\(" + b",".join([_SIZE] * 3) + rb"\)")


@dataclass(frozen=True, slots=True)
class Required:
    """One of the three sizes; `start` and `end` are its bytes."""

    text: str
    start: int
    end: int


def required_sizes(source: KernelSource) -> tuple[Required, ...] | None:
    """Of the kernel's attribute, x first; None without one, empty where it cannot be read."""
    data, body = source.tree.data, field(source.function, "body").start_byte
    begin = max(data.rfind(end, 0, source.function.start_byte) for end in (b"}", b";")) + 1
    if _ATTRIBUTE.search(data, begin, body) is None:
        return None
    found = list(_SIZES.finditer(data, begin, body))
    if len(found) != 1:
        return ()
    sizes = []
    for number in (1, 2, 3):
        text = found[0][number]
        start = found[0].start(number) + len(text) - len(text.lstrip())
        sizes.append(Required(text.strip().decode(), start, start + len(text.strip())))
    return tuple(sizes)
