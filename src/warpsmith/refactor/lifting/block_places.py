"""Does what is stored depend on where in its block a thread is? Blocks of another size put it elsewhere.

`out[i] = in[i] * threadIdx.x`, `if (threadIdx.x == 0) out[i] = 0`: part of the result. Not so where a thread only finds its place
in the grid, where lanes of a group that no block cuts are told apart (`threadIdx.x % 32 == 0`), where threads beyond a tile have
nothing to store (`threadIdx.x < TILE`), and where there is one result for the block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.lifting.surplus import effects
from warpsmith.refactor.lifting.thread_groups import group_of
from warpsmith.source.assembly import inputs
from warpsmith.source.comparisons import MIRRORED, NEGATED
from warpsmith.source.dataflow import base_name, exits
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40
_ATOMIC = re.compile(r"atom(?:ic)?_?\w+")
_MEMORY = {"subscript_expression", "pointer_expression"}


def told_by_place(names: Names, axis: str, sizes: Collection[str], threads: int | None) -> str | None:
    """Why the size of blocks along an axis is no choice. `sizes` are what gives it, `threads` how many the author's have."""
    found = _Places(names, axis, sizes, threads)
    for effect, place, values in _stores(names):
        if found.is_dealt(place) and (any(map(found.tells, values)) or found.decides(effect)):
            return f"line {names.source.line_of(effect)} stores what depends on a thread's place in its block"
    return None


def _stores(names: Names) -> Iterator[tuple[Node, Node, list[Node]]]:
    """Effects on the device's memory: where, and what of."""
    for effect in effects(names.source.body, names):
        if effect.type == "assignment_expression":
            yield effect, unwrapped(field(effect, "left")), [field(effect, "right")]
        elif effect.type == "update_expression":
            yield effect, unwrapped(field(effect, "argument")), []
        elif effect.type == "gnu_asm_expression":  # any of what goes in may be the address
            given = list(inputs(effect))
            yield from ((effect, place, [*given[:at], *given[at + 1 :]]) for at, place in enumerate(given))
        elif _ATOMIC.match(text_of(field(effect, "function"))):
            place, *values = field(effect, "arguments").named_children
            yield effect, place, values


class _Places:
    def __init__(self, names: Names, axis: str, sizes: Collection[str], threads: int | None) -> None:
        self._names, self._axis, self._sizes, self._count = names, axis, sizes, threads
        self._loops: dict[str, Loop] = {loop.atom: loop for loop in loops_of(names.source.body, names)}
        self._taken: frozenset[str] = frozenset()
        shared = {base_name(n) for d in teamwork(names.source).shared for n in d.children_by_field_name("declarator")}
        assigned = [(name, node, value) for name, node, value in _assigned(names.source.body) if name not in shared]
        while True:
            told = {name for name, node, value in assigned if self.tells(value) or self.decides(node)}
            if told <= self._taken:
                return
            self._taken |= told

    def is_dealt(self, place: Node) -> bool:
        """Whether blocks have their places there side by side, so many apart as their size says."""
        parts = [n for n in (place, *of_kind(place, "identifier")) if n.type != "subscript_expression"]
        for node in (*parts, *(i for s in of_kind(place, "subscript_expression") for i in field(s, "indices").named_children)):
            polynomial = Polynomial.of(node, self._names)
            starts = [Polynomial.of(self._loops[a].start, self._names) for a in polynomial.atoms if a in self._loops]
            if any(self._follows(p) for p in (polynomial, *starts)):
                return True
        return False

    def tells(self, node: Node, depth: int = 0) -> bool:
        """Whether a value depends on the thread's place in its block in another way than by its place in the grid."""
        node = unwrapped(node)
        if node.type in _MEMORY or depth > _DEEPEST:
            return False  # what is read at a thread's place, others ask (`turns`, `neighbours`)
        if self._names.builtin(node) == f"threadIdx.{self._axis}":
            return True
        if self._is_place(Polynomial.of(node, self._names)) or self._is_lane(node):
            return False
        if node.type == "identifier":
            found = self._names.definition(node)
            if found.is_fixed and found.value is not None and found.origin is Origin.LOCAL:
                return self.tells(found.value, depth + 1)
            return found.origin is Origin.LOCAL and text_of(node) in self._taken
        return any(self.tells(child, depth + 1) for child in node.named_children)

    def decides(self, effect: Node) -> bool:
        """Whether the thread's place in its block is asked for before something is done."""
        asked = [part for condition, holds in self._asked_before(effect) for part in _parts(condition, holds)]
        asked = [(part, holds) for part, holds in asked if self.tells(part)]
        return bool(asked) and not any(self._is_below_size(part, holds) for part, holds in asked)

    def _asked_before(self, effect: Node) -> Iterator[tuple[Node, bool]]:
        """Conditions that hold, or do not hold, where it is done."""
        inner = effect
        for outer in ancestors(effect):
            if not is_within(outer, self._names.source.body):
                return
            condition = outer.child_by_field_name("condition")
            if outer.type in {"if_statement", "switch_statement"} and condition is not None and not is_within(inner, condition):
                yield condition, outer.type == "switch_statement" or is_within(inner, field(outer, "consequence"))
            if outer.type == "compound_statement":
                before = (c for c in outer.named_children if c.type == "if_statement" and c.end_byte <= inner.start_byte)
                yield from ((field(c, "condition"), False) for c in before if any(exits(field(c, "consequence"))))
            inner = outer

    def _is_below_size(self, part: Node, holds: bool) -> bool:
        """`threadIdx.x < TILE`: the threads beyond have nothing there."""
        operator = text_of(field(part, "operator")) if part.type == "binary_expression" else ""
        operator = operator if holds else NEGATED.get(operator, "")
        if operator not in MIRRORED:
            return False
        left, right = field(part, "left"), field(part, "right")
        one, other = (left, right) if operator in {"<", "<="} else (right, left)
        limit = Polynomial.of(other, self._names)
        return self.tells(one) and not self.tells(other) and self._has_size(limit)

    def _is_place(self, polynomial: Polynomial) -> bool:
        """So many for each block before, as its size says, and the thread's own part of that."""
        block = f"blockIdx.{self._axis}"
        return any(block in term and self._has_size(Polynomial({term: 1})) for term in polynomial.terms)

    def _follows(self, polynomial: Polynomial) -> bool:
        """Whether such a place is in it, also divided by something."""
        terms = [Polynomial({term: 1}) for term in polynomial.terms]
        return any(term.mentions(f"blockIdx.{self._axis}") and self._has_size(term) and "[" not in str(term) for term in terms)

    def _has_size(self, term: Polynomial) -> bool:
        return any(map(term.mentions, self._sizes))

    def _is_lane(self, node: Node) -> bool:
        """A thread's place in a group of which blocks have whole ones (`lifting.thread_groups` asks for that)."""
        group = group_of(node, self._names)
        if group is None or not group.is_within or self._count is None:
            return False
        return group.size < self._count and self._count % group.size == 0


def _assigned(body: Node) -> Iterator[tuple[str, Node, Node]]:
    """Variables, where they get a value, and which."""
    for node in of_kind(body, "assignment_expression", "init_declarator"):
        left, right = ("left", "right") if node.type == "assignment_expression" else ("declarator", "value")
        if unwrapped(field(node, left)).type == "identifier" and node.child_by_field_name(right) is not None:
            yield text_of(unwrapped(field(node, left))), node, field(node, right)


def _parts(condition: Node, holds: bool) -> Iterator[tuple[Node, bool]]:
    """What is known of the parts of a condition that holds, or does not."""
    condition = unwrapped(condition.child_by_field_name("value") or condition)
    operator = text_of(field(condition, "operator")) if condition.type == "binary_expression" else ""
    if operator == ("&&" if holds else "||"):
        for side in ("left", "right"):
            yield from _parts(field(condition, side), holds)
    elif condition.type == "unary_expression" and text_of(condition).startswith("!"):
        yield from _parts(field(condition, "argument"), not holds)
    else:
        yield condition, holds
