"""Sizes of the block that `reqd_work_group_size` names, too: lifted together with the constants, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.errors import InputError
from warpsmith.refactor.extents import names_of, same, substituted
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.work_group_attribute import required_sizes

REASON = "reqd_work_group_size gives the block's size in an unsupported form"


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
