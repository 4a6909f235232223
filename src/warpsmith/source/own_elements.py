"""Loops that work on the elements of an array of the thread's own, one independently of the other.

`for (d …) for (i …) for (j …) sums[i][j] += a[i][d] * b[d][j];` can as well run for one `i` and `j` after the other: no element's
sum has to do with another one's, and each adds up in the same order. So those can be left out that nobody stores, because
`if (row + i < m && col + j < n) c[…] = sums[i][j];` does not. Which checks these are is said here; `refactor` writes the loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import base_name
from warpsmith.source.dead_work import changed_by, checks_at, holds_in_all_steps, reads_of, targets_in
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.signs import Signs
from warpsmith.source.symbolic_bounds import End, Extremes
from warpsmith.source.threads import spelled
from warpsmith.source.tiles.loaded import indices_of
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CONSTANT = frozenset({Origin.MACRO, Origin.FILE, Origin.TEMPLATE})
_AXES = "xyz"
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class OwnElements:
    """`counters` are the loops that pick an element, or a row of them. Nobody reads one for which not all of `stored` hold;
    `checks` are where that is asked. `is_rolled`: the loop as a whole counts through no register, so it need not be unrolled.
    `half`: of rows, when half of a row's elements or more are read, for some thread along the axes that do not count.
    `for_some`: what `stored` asks, where it holds most easily of all threads along x. Those are lanes of one vector.
    """

    counters: tuple[Loop, ...]
    stored: tuple[str, ...]
    checks: tuple[Node, ...]
    is_rolled: bool
    half: tuple[str, ...] = ()
    for_some: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    node: Node
    for_some: str


def own_elements(loop: Loop, names: Names, extents: Mapping[str, str], axes: str = _AXES) -> OwnElements | None:
    """The elements that the loop works on, where they are independent and some may be read by nobody; else None.

    Only checks count that ask about threads along some of these axes and no others: without x, elements that are checked along x
    alone stay together, as a row.
    """
    changed = changed_by(loop, names)
    if len(changed) != 1:
        return None
    ((name, declarator),) = changed.items()
    seen = names.source.scopes.declaration
    mentioned = [use for use in of_kind(loop.node, "identifier") if text_of(use) == name]
    uses = [use for use in mentioned if (found := seen(name, use)) is not None and found.node == declarator]
    counters = _counters(uses, loop, names)
    if not counters:
        return None
    stored: dict[str, _Asked] | None = None
    for read in reads_of(changed, loop, names):
        parts = _exact(read, loop, [counter.variable for counter in counters], names, extents)
        stored = parts if stored is None else {text: asked for text, asked in stored.items() if text in parts}
    stored = stored or {}
    half: list[str] = []
    if axes != _AXES:
        others = [counter for counter in counters if not any(_asks(text, counter, axes, names) for text in stored)]
        counters = [counter for counter in counters if counter not in others]
        free = {counter.variable for counter in others}
        half = [_halfway(t, others, axes, names) for t in stored if free & set(_WORD.findall(t))]
        stored = {t: asked for t, asked in stored.items() if _is_along(t, axes, names) and not free & set(_WORD.findall(t))}
    if not counters or not stored or not _are_independent(loop, counters, declarator, names):
        return None
    is_rolled = _is_rolled(loop, counters, names)
    nodes, for_some = tuple(a.node for a in stored.values()), tuple(a.for_some for a in stored.values())
    return OwnElements(_outermost_first(counters), tuple(stored), nodes, is_rolled, tuple(half), for_some)


def _asks(text: str, counter: Loop, axes: str, names: Names) -> bool:
    return _is_along(text, axes, names) and counter.variable in _WORD.findall(text)


def _halfway(text: str, counters: Iterable[Loop], axes: str, names: Names) -> str:
    """The check for the first thread's element in the middle of a row. Which way that goes changes no result."""
    for axis in set(_AXES) - set(axes):
        place = re.escape(spelled(f"threadIdx.{axis}", names.source.language))
        text = re.sub(rf"\(int\){place}|static_cast<int>\({place}\)|{place}", "0", text)
    for counter in counters:
        text = re.sub(rf"\b{re.escape(counter.variable)}\b", f"({text_of(counter.bound)} / 2)", text)
    return text


def _is_along(text: str, axes: str, names: Names) -> bool:
    """Whether it is about threads' places along these axes, and along no others."""
    asked = {axis for axis in _AXES if spelled(f"threadIdx.{axis}", names.source.language) in text}
    return bool(asked) and asked <= set(axes)


def _counters(uses: Iterable[Node], loop: Loop, names: Names) -> list[Loop]:
    """One loop for each subscript, the same ones wherever the array is used."""
    signs = Signs(names)
    known = {each.node.start_byte for each in loops_of(loop.node, names)}
    found: list[list[Loop]] = []
    for use in uses:
        loops = [signs.loop_of(index) if index.type == "identifier" else None for index in _subscripts(use)]
        those = [each for each in loops if each is not None and each.node.start_byte in known and _is_constant(each, names)]
        if len(those) != len(loops) or len({each.variable for each in those}) != len(loops):
            return []
        found.append(those)
    first = [each.node.start_byte for each in found[0]] if found else []
    return found[0] if found and all([each.node.start_byte for each in those] == first for those in found) else []


def _subscripts(use: Node) -> list[Node]:
    element = use
    while element.parent is not None and element.parent.type == "subscript_expression":
        element = element.parent
    return list(indices_of(element)) if element.type == "subscript_expression" and base_name(element) == text_of(use) else []


def _is_constant(loop: Loop, names: Names) -> bool:
    """Whether the loop may stand elsewhere: its range is the same wherever it is asked."""
    nodes = [n for n in (loop.start, loop.bound, loop.step) if n is not None]
    uses = [use for node in nodes for use in of_kind(node, "identifier")]
    known = all(text_of(use) in names.parameters or names.definition(use).origin in _CONSTANT for use in uses)
    calls = any(True for node in nodes for _ in of_kind(node, "call_expression", "subscript_expression", "field_expression"))
    return known and not calls and not loop.changes_variable(names) and not loop.jumps()


def _are_independent(loop: Loop, counters: list[Loop], array: Node, names: Names) -> bool:
    """Whether the rest can be done again for every element: what else is changed belongs to the turn in which it is changed."""
    for target in targets_in(loop.node):
        declared = names.source.scopes.declaration(base_name(target), target)
        if declared is None or (declared.node != array and _turn(target, counters) != _turn(declared.node, counters)):
            return False
    # Around the whole, a counter would be seen where something else of its name is meant, if that comes from further outside.
    called = {counter.variable for counter in counters}
    uses = [use for use in of_kind(loop.node, "identifier") if text_of(use) in called]
    seen = [names.source.scopes.declaration(text_of(use), use) for use in uses]
    return all(declared is not None and is_within(declared.node, loop.node) for declared in seen)


def _is_rolled(loop: Loop, counters: list[Loop], names: Names) -> bool:
    own = {array.name for array in arrays_of(names) if not array.is_shared}
    elements = [n for n in of_kind(loop.body, "subscript_expression") if base_name(n) in own]
    by_loop = any(text_of(use) == loop.variable for element in elements for use in of_kind(element, "identifier"))
    return not by_loop and all(counter.node != loop.node for counter in counters)


def _turn(node: Node, counters: list[Loop]) -> int:
    """In how many of the counters' loops it stands: a counter's own update belongs to its loop."""
    return sum(is_within(node, counter.node) for counter in counters)


def _exact(read: Node, loop: Loop, called: list[str], names: Names, extents: Mapping[str, str]) -> dict[str, _Asked]:
    """What holds where an element is read, said of an element that is counted by `called`, before the loop begins."""
    subscripts, signs = _subscripts(read), Signs(names)
    loops = [signs.loop_of(index) if index.type == "identifier" else None for index in subscripts]
    if len(loops) != len(called) or None in loops:
        return {}
    kept = {_declared_at(each): f"counter_{number}__" for number, each in enumerate(loops) if each is not None}
    if len(kept) != len(called):
        return {}
    extremes, over_lanes = (Extremes(names, loop.node, extents, axes, kept) for axes in (_AXES, _AXES.replace("x", "")))
    found: dict[str, _Asked] = {}
    for part in checks_at(read, names):
        text = _spelled(part, extremes)
        if text is None or not holds_in_all_steps(text, loop, names):
            continue
        if any(re.search(rf"\b{re.escape(name)}\b", text) for name in called):
            continue  # something else of that name would be meant
        for_some = _easiest(part, over_lanes) or text
        for number, name in enumerate(called):
            text, for_some = (each.replace(f"counter_{number}__", name) for each in (text, for_some))
        found[text] = _Asked(part, for_some)
    return found


def _declared_at(loop: Loop) -> int:
    return next(of_kind(field(loop.node, "initializer"), "init_declarator")).start_byte


def _spelled(part: Node, extremes: Extremes) -> str | None:
    """The comparison over what is known before the loop; None where it says nothing of the data, or negative numbers could
    count as large ones.
    """
    operator = text_of(field(part, "operator")) if part.type == "binary_expression" else ""
    if operator not in {"<", "<=", ">", ">="} or not extremes.signs.is_about_data(part):
        return None
    left, right = field(part, "left"), field(part, "right")
    signs = extremes.signs
    if not (signs.is_signed(left) and signs.is_signed(right)) and not (signs.is_natural(left) and signs.is_natural(right)):
        return None
    ends = [(extremes.of(side, End.LEAST), extremes.of(side, End.GREATEST)) for side in (left, right)]
    if any(least is None or least != greatest for least, greatest in ends):
        return None  # it depends on more than the element
    return f"{ends[0][0]} {operator} {ends[1][0]}"


def _easiest(part: Node, extremes: Extremes) -> str | None:
    """The comparison where it holds most easily: if not even there, then for no thread."""
    operator = text_of(field(part, "operator"))
    least_first = operator[0] == "<"
    left = extremes.of(field(part, "left"), End.LEAST if least_first else End.GREATEST)
    right = extremes.of(field(part, "right"), End.GREATEST if least_first else End.LEAST)
    return None if left is None or right is None else f"{left} {operator} {right}"


def _outermost_first(counters: list[Loop]) -> tuple[Loop, ...]:
    return tuple(sorted(counters, key=lambda counter: len(list(ancestors(counter.node)))))
