"""Which values a lifted constant may take, and what it means: both follow from its part in the launch."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Name, Node, children
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.extents import names_of
from warpsmith.refactor.lifting.linking import AXES, Links
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.constants import Constant, ConstantKind

_MOST_THREADS = 4096


class Part(StrEnum):
    """What a constant is for."""

    BLOCK = "threads in a block"
    AXIS = "threads of a block along {axis}"
    TILE = "elements of a block along {axis}"
    EACH = "elements of a thread"
    DEPTH = "elements staged at a time"
    ACCESS = "bytes per access"
    LANES = "elements per access"


def part_of(parameter: str, links: Links) -> tuple[Part, str]:  # noqa: PLR0911 - one return for each part
    """What the constant is for, and along which axis of the block."""
    if links.widths.get(parameter):
        return Part.ACCESS, ""
    if parameter in links.widths and parameter not in links.linked:
        return Part.LANES, ""
    for axis, extent in zip(AXES, links.block, strict=False):
        if extent == parameter:
            return (Part.BLOCK if len(links.block) == 1 else Part.AXIS), axis
    for axis, extent in zip(AXES, links.block, strict=False):
        if parameter in _divisors(Expression.parse(extent).tree):
            return Part.EACH, axis
        if parameter in names_of(extent):
            return Part.TILE, axis
    for axis, share in links.shares.items():
        if parameter in names_of(share.part):
            return Part.EACH, axis
    return Part.DEPTH, ""


def tunable(parameter: str, lifted: Symbolic, links: Links, limits: Limits) -> Tunable:
    part, axis = part_of(parameter, links)
    constants = lifted.constants[parameter]
    default = constants[0].value
    meaning = comment_beside(lifted, constants[0]) or str(part).format(axis=axis)
    values = _values(part, axis, default, links, lifted, constants, limits)
    # With several elements in more than one direction, what a thread loads for one serves the others.
    directions = sum(part_of(name, links)[0] is Part.EACH for name in lifted.constants)
    likely = tuple(value for value in values if value > 1) if part is Part.EACH and directions > 1 else ()
    return Tunable(parameter, values, default, meaning, constants[0].line, likely)


def powers_of_two(least: int, most: int) -> list[int]:
    return [1 << n for n in range(most.bit_length()) if least <= 1 << n <= most]


def block_sizes(default: int, limits: Limits) -> tuple[int, ...]:
    """From a few (where a block's launch is cheap and its barriers dear) to as many as a device takes."""
    return _with(default, powers_of_two(8, min(limits.max_threads_per_block, _MOST_THREADS)))


def comment_beside(lifted: Symbolic, constant: Constant) -> str | None:
    """What its author says of it on the same line."""
    if constant.line is None or constant.kind in {ConstantKind.TEMPLATE, ConstantKind.MACRO}:
        return None
    line = lifted.source.text.splitlines()[constant.line - 1 - _removed_before(lifted, constant)]
    found = re.search(r"//\s*(.{3,60})$", line)
    return found[1].strip() if found else None


def _removed_before(lifted: Symbolic, constant: Constant) -> int:
    """Lines of macros that have become parameters are gone."""
    gone = (c for listed in lifted.constants.values() for c in listed if c.kind is ConstantKind.MACRO)
    return sum(1 for c in gone if c.line is not None and constant.line is not None and c.line < constant.line)


def _values(  # noqa: PLR0911 - one return for each part
    part: Part, axis: str, default: int, links: Links, lifted: Symbolic, constants: Iterable[Constant], limits: Limits
) -> tuple[int, ...]:
    match part:
        case Part.ACCESS:
            least = max(_element_bytes(lifted, constant) for constant in constants)
            return _with(default, powers_of_two(least, max(default, 32)))
        case Part.LANES:
            return _with(default, powers_of_two(1, min(2 * default, 16)))
        case Part.BLOCK:
            return block_sizes(default, limits)
        case Part.AXIS if axis == "x":
            return _with(default, powers_of_two(8, 128))
        case Part.AXIS:
            return _with(default, powers_of_two(1, 32))
        case Part.EACH:
            return _with(
                default, powers_of_two(1, min(16, max(8, 4 * default if axis not in AXES[: len(links.block)] else 2 * default)))
            )
        case Part.TILE:
            return _with(default, powers_of_two(1 if default < 8 else max(4, default // 4), min(128, 4 * default)))
        case Part.DEPTH:
            return _with(default, powers_of_two(max(4, default // 2), min(64, 4 * default)))


def _with(default: int, values: Iterable[int]) -> tuple[int, ...]:
    """The author's value belongs to the set; if it is no power of two, so do its double and its half."""
    more = {default} if default & (default - 1) == 0 else {default, *([default // 2] if default % 2 == 0 else []), 2 * default}
    return tuple(sorted({*values, *more}))


def _element_bytes(lifted: Symbolic, constant: Constant) -> int:
    """The bytes of one value: an access of fewer has no value in it."""
    line = lifted.source.text.splitlines()[(constant.line or 1) - 1 - _removed_before(lifted, constant)]
    found = re.search(r"sizeof\s*\(\s*([\w:\s*]+?)\s*\)", line)
    size = lifted.names.size_of(found[1]) if found else None
    return size if size is not None else 4


def _divisors(node: Node) -> frozenset[str]:
    match node:
        case Binary(operator="/" | "//", left=left, right=Name(name=name)):
            return _divisors(left) | {name}
        case _:
            return frozenset().union(*(_divisors(child) for child in children(node)))
