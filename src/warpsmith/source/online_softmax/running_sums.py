"""Recognises a sum of exponentials that is kept relative to a maximum still being found, as a softmax in one sweep has it.

A step finds a higher maximum, brings the sum down to it, and adds its own terms; when the row is done, the sum is brought to the
maximum of all threads, once:

    for (...) { float h = fmaxf(m, x);  s = s * expf(m - h) + expf(x - h);  m = h; }
    ... s * expf(m - r) ...

Since exp(a) exp(b) = exp(a + b), that product is the sum of exp(x - r) over the thread's steps, whatever `r` is. The shape is
taken apart statement by statement; one that is none of these, or computes anything else from m, s or h, is not recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as data
from typing import TYPE_CHECKING

from warpsmith.source.accumulators import EXTREME, terms_of
from warpsmith.source.dataflow import identifiers, is_pure
from warpsmith.source.independence import carried
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.statements import pieces_of
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPONENTIAL = re.compile(r"(?:std::|::)?(?:__|native_)?exp(?:2|10)?f?")
_ZERO = re.compile(r"0*\.?0*[fF]?")


@dataclass(frozen=True, slots=True)
class Term:
    """`call` is the exponential that a step adds, in the counted loop over a pack's lanes if there is one."""

    call: Node = data(repr=False)
    minuend: Node = data(repr=False)
    lanes: Loop | None


@dataclass(frozen=True, slots=True)
class RunningSum:
    """`summing` are the statements that only the sum needs, `loads` those that both need; `use` is `s * expf(m - r)`.

    `statement` holds the use, and stands in the same block as the loop.
    """

    loop: Loop
    sum: str
    maximum: str
    higher: str
    terms: tuple[Term, ...]
    summing: tuple[Node, ...] = data(repr=False)
    loads: tuple[Node, ...] = data(repr=False)
    use: Node = data(repr=False)
    top: str
    statement: Node = data(repr=False)


def running_sum(loop: Loop, names: Names) -> RunningSum | None:
    """What the loop carries, when that is a maximum and a sum relative to it and nothing else."""
    statements = [piece.node for piece in pieces_of(loop.body, names.source.tree)]
    ends = [pair for node in statements[-1:] if (pair := _assigned(node, "=")) is not None]
    if not ends or ends[0][1].type != "identifier" or len(statements) < 3:
        return None
    maximum, higher = ends[0][0], text_of(ends[0][1])
    sums = set(carried(loop, names)) - {maximum}
    if len(sums) != 1 or higher == maximum:
        return None
    found = _Step(names, maximum, higher, sums.pop())
    if not all(found.takes(node) for node in statements[:-1]) or not (found.is_opened and found.is_scaled and found.terms):
        return None
    outside = _use_outside(loop, found, names)
    if outside is None:
        return None
    use, top, statement = outside
    terms, summing, loads = tuple(found.terms), tuple(found.summing), tuple(found.loads)
    return RunningSum(loop, found.sum, maximum, higher, terms, summing, loads, use, top, statement)


class _Step:
    """Goes through a step's statements in order."""

    def __init__(self, names: Names, maximum: str, higher: str, total: str) -> None:
        self._names, self.maximum, self.higher, self.sum = names, maximum, higher, total
        self.is_opened = self.is_scaled = False
        self.terms: list[Term] = []
        self.summing: list[Node] = []
        self.loads: list[Node] = []

    def takes(self, node: Node) -> bool:
        """Whether the statement is one that belongs here, in this order."""
        own = {self.maximum, self.higher, self.sum} & identifiers(node)
        if not own:
            self.loads.append(node)
            return node.type in {"declaration", "alias_declaration"} and is_pure(node, self._names.source)
        if node.type == "declaration":
            return self._opens(node)
        lanes = _counted(node, self._names) if node.type == "for_statement" else None
        inner = node if lanes is None else _only_statement(lanes.body)
        return inner is not None and (self._raises(inner) or self._adds(inner, node, lanes))

    def _opens(self, node: Node) -> bool:
        """`float h = m;`, or `float h = fmaxf(m, x);`."""
        declared = [c for c in node.named_children if c.type == "init_declarator"]
        if self.is_opened or len(declared) != 1 or text_of(field(declared[0], "declarator")) != self.higher:
            return False
        self.is_opened = self._is_higher_of(field(declared[0], "value"), self.maximum)
        return self.is_opened

    def _raises(self, node: Node) -> bool:
        """`h = fmaxf(h, x);` before the sum is touched."""
        pair = _assigned(node, "=")
        before = self.is_opened and not self.is_scaled
        return before and pair is not None and pair[0] == self.higher and self._is_higher_of(pair[1], self.higher)

    def _is_higher_of(self, value: Node, name: str) -> bool:
        """The name, or a maximum of it, once, and of other things."""
        value = unwrapped(value)
        called = text_of(field(value, "function")) if value.type == "call_expression" else ""
        given = [text_of(term) for term in terms_of(value, called or "?")]
        maximum = not called or (EXTREME.fullmatch(called) is not None and "max" in called)
        others = [t for t in terms_of(value, called or "?") if text_of(t) != name]
        free = not any({self.maximum, self.higher, self.sum} & identifiers(t) for t in others)
        return maximum and given.count(name) == 1 and free

    def _adds(self, node: Node, whole: Node, lanes: Loop | None) -> bool:
        """`s *= expf(m - h);` once, `s += expf(x - h);`, or `s = s * expf(m - h) + expf(x - h);` for both."""
        if not self.is_opened:
            return False
        self.summing.append(whole)
        for sign in ("*=", "+=", "="):
            pair = _assigned(node, sign)
            if pair is None or pair[0] != self.sum:
                continue
            if sign == "*=":
                return lanes is None and self._scales(pair[1])
            parts = list(terms_of(pair[1], "+"))
            if sign == "=":
                kept = [p for p in parts if p.type == "binary_expression" and self._scales_sum(p)]
                return lanes is None and len(kept) == 1 and all(self._is_term(p, lanes) for p in parts if p != kept[0])
            return self.is_scaled and all(self._is_term(p, lanes) for p in parts)
        return False

    def _scales_sum(self, product: Node) -> bool:
        factors = [unwrapped(field(product, side)) for side in ("left", "right")]
        if text_of(field(product, "operator")) != "*" or self.sum not in map(text_of, factors):
            return False
        return self._scales(next(f for f in factors if text_of(f) != self.sum))

    def _scales(self, value: Node) -> bool:
        parts = exponent_of(value)
        once = not self.is_scaled and parts is not None and list(map(text_of, parts)) == [self.maximum, self.higher]
        self.is_scaled = self.is_scaled or once
        return once

    def _is_term(self, value: Node, lanes: Loop | None) -> bool:
        parts = exponent_of(value)
        if parts is None or text_of(parts[1]) != self.higher:
            return False
        self.terms.append(Term(unwrapped(value), parts[0], lanes))
        return not {self.maximum, self.higher, self.sum} & identifiers(parts[0])


def exponent_of(value: Node) -> tuple[Node, Node] | None:
    """The two sides of `expf(a - b)`."""
    value = unwrapped(value)
    if value.type != "call_expression" or _EXPONENTIAL.fullmatch(text_of(field(value, "function"))) is None:
        return None
    arguments = field(value, "arguments").named_children
    inner = unwrapped(arguments[0]) if len(arguments) == 1 else value
    if inner.type != "binary_expression" or text_of(field(inner, "operator")) != "-":
        return None
    return unwrapped(field(inner, "left")), unwrapped(field(inner, "right"))


def _use_outside(loop: Loop, found: _Step, names: Names) -> tuple[Node, str, Node] | None:
    """The one use of the sum after the loop, `s * expf(m - r)`, with `r` and its statement. It must have begun at 0."""
    block = loop.node.parent
    uses = [n for n in of_kind(names.source.body, "identifier") if text_of(n) == found.sum and not is_within(n, loop.node)]
    if block is None or block.type != "compound_statement" or len(uses) != 2:
        return None
    declared, use = uses
    value = names.definition(use).value
    begins = value is not None and is_within(declared, names.source.body) and _ZERO.fullmatch(text_of(unwrapped(value)))
    product = use.parent
    if not begins or product is None or product.type != "binary_expression" or text_of(field(product, "operator")) != "*":
        return None
    factor = next((f for side in ("left", "right") if (f := unwrapped(field(product, side))) != use), use)
    parts = exponent_of(factor)
    statement = next((a for a in ancestors(use) if a.parent == block), None)
    if parts is None or statement is None or statement.start_byte < loop.node.end_byte:
        return None
    top = parts[1]
    fixed = top.type == "identifier" and names.definition(top).is_fixed
    same = {text_of(field(unwrapped(t.call), "function")) for t in found.terms} == {text_of(field(factor, "function"))}
    return (product, text_of(top), statement) if fixed and same and text_of(parts[0]) == found.maximum else None


def _assigned(statement: Node, sign: str) -> tuple[str, Node] | None:
    """The name that a statement assigns to with this sign, and the value."""
    node = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else statement
    if node.type != "assignment_expression" or text_of(field(node, "operator")) != sign:
        return None
    target = unwrapped(field(node, "left"))
    return (text_of(target), unwrapped(field(node, "right"))) if target.type == "identifier" else None


def _counted(node: Node, names: Names) -> Loop | None:
    return next((loop for loop in loops_of(node, names) if loop.node == node), None)


def _only_statement(body: Node) -> Node | None:
    inner = [c for c in body.named_children if c.type != "comment"] if body.type == "compound_statement" else [body]
    return inner[0] if len(inner) == 1 else None
