"""Numbers of the launch that the kernel says again without a name: `blockIdx.x * 16 + threadIdx.x`, `tile[16][16]`, `i < 16`.

All places that say such a number are taken together. Each must be one where a size of the execution can stand: the size of an
array in shared memory, a factor of the block's, the thread's or a loop's place, the end or the step of a loop, a part of an
argument. One that is not makes the number something else, and it is left alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Subject
from warpsmith.refactor.extents import spelled, tidy, value_at
from warpsmith.refactor.lifting.linking import AXES, divisors
from warpsmith.source import Names
from warpsmith.source.constants import Constant, ConstantKind
from warpsmith.source.maximal_expressions import outer
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped
from warpsmith.source.work_group_attribute import required_sizes

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAST = 4  # smaller numbers stand for too many things
_WARPS = (32, 64)


def literal_families(subject: Subject, named: Collection[int]) -> list[Constant]:
    """For each number of the launch that no constant has: the places where the kernel says it, if all of them may be it."""
    names = Names(subject.source, {t.name for t in subject.variant.tunables}, subject.kernel)
    exchanges = bool(teamwork(subject.source).by_warps)
    found: list[Constant] = []
    numbers = _launch_numbers(subject)
    for value, name in numbers.items():
        if value in named or value < _LEAST or (exchanges and value in _WARPS):
            continue
        if any(value != other and max(value, other) % min(value, other) == 0 for other in numbers if other >= _LEAST):
            continue  # 1024 may be four times 256, and then neither is free
        places = _places(names, value)
        if places and all(_may_be_size(place, names) for place in places):
            found += [
                Constant(name, value, ConstantKind.LITERAL, p.start_byte, p.end_byte, names.source.line_of(p)) for p in places
            ]
            found += [
                Constant(name, value, ConstantKind.LITERAL, size.start, size.end, None)
                for size in required_sizes(names.source) or ()
                if size.text == str(value)
            ]
    return found


def _launch_numbers(subject: Subject) -> dict[int, str]:
    """The sizes of the block and of each block's share, with a name for each; a number in several places is a tile's."""
    found: dict[int, str] = {}
    block = [tidy(extent) for extent in subject.variant.block]
    for axis, extent in zip(AXES, block, strict=False):
        if extent.isdigit():
            found[int(extent)] = "TILE" if int(extent) in found else "BLOCK" if len(block) == 1 else f"BLOCK_{axis.upper()}"
    for extent in map(tidy, subject.variant.grid):
        for part, _ in divisors(Expression.parse(extent).tree):
            value = value_at(spelled(part), {})
            if value is not None:
                found[value] = found[value] if len(block) == 1 and value in found else "TILE"
    tiles = [value for value, name in found.items() if name == "TILE"]
    return found if len(tiles) < 2 else {v: f"TILE_{v}" if v in tiles else name for v, name in found.items()}


def _places(names: Names, value: int) -> list[Node]:
    bounds = [c for c in names.source.function.children if c.type == "launch_bounds"]
    within = [*bounds, *names.source.reached()]
    return [n for part in within for n in of_kind(part, "number_literal") if text_of(n) == str(value)]


def _may_be_size(place: Node, names: Names) -> bool:
    parent = outer(place)
    if parent is None:
        return False
    if parent.type in {"array_declarator", "launch_bounds"}:
        return True
    loop = next((a for a in ancestors(place) if a.type == "for_statement"), None)
    if loop is not None and any(_is_part(place, loop, name) for name in ("condition", "update")):
        return True
    if parent.type != "binary_expression":
        return False
    operator = text_of(field(parent, "operator"))
    left, right = unwrapped(field(parent, "left")), unwrapped(field(parent, "right"))
    other = Polynomial.of(right if left == place else left, names)
    if operator == "*":
        return bool(other.atoms) and all(_is_index(atom, names, loop) for atom in other.atoms)
    # How many there are of it in an argument: n / 16, (n + 15) / 16 has a number that is not this one.
    return operator == "/" and right == place and names.expression(left) is not None


def _is_part(place: Node, loop: Node, name: str) -> bool:
    part = loop.child_by_field_name(name)
    return part is not None and is_within(place, part)


def _is_index(atom: str, names: Names, loop: Node | None) -> bool:
    """The place of a block or a thread, or the variable of a loop around."""
    if atom.startswith(("blockIdx.", "threadIdx.")):
        return True
    variable, at, _ = atom.partition("@")
    known = {o for o in (Origin.LOOP,) if at}
    return (
        bool(known)
        and loop is not None
        and any(text_of(n) == variable and names.definition(n).origin is Origin.LOOP for n in of_kind(loop, "identifier"))
    )
