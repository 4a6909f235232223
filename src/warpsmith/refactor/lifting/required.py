"""What `reqd_work_group_size` says of the block: a launch of another size is an error.

The attribute is masked before the source is parsed, so it is read off the text in front of the kernel's body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core.errors import InputError
from warpsmith.refactor.extents import names_of, same, substituted
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source import KernelSource
from warpsmith.source.tree import field

_ATTRIBUTE = re.compile(rb"\breqd_work_group_size\s*\(")
_SIZES = re.compile(rb"\breqd_work_group_size\s*\(([^(),]+),([^(),]+),([^(),]+)\)")
REASON = "reqd_work_group_size names the block's size in another way"


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


def misnamed(lifted: Symbolic, block: Sequence[str]) -> frozenset[str]:
    """The parameters of a block that the attribute does not follow."""
    sizes = required_sizes(lifted.source)
    if sizes is None:
        return frozenset()
    named = {constant.name: p for p, constants in lifted.constants.items() for constant in constants if p != constant.name}
    wrong: set[str] = set()
    for number, extent in enumerate(block):
        if not sizes or not _is_same(sizes[number].text, extent, named):
            wrong |= names_of(extent) & lifted.constants.keys()
    return frozenset(wrong)


def _is_same(text: str, extent: str, named: dict[str, str]) -> bool:
    try:
        return same(substituted(text, named), extent)
    except InputError:
        return False
