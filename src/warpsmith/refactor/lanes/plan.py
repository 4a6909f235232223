"""A function's statements, sorted by how lanes do them: once for all, each lane for itself, together, or as parts of a block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from warpsmith.refactor.lanes.differing import Block, Lanes
from warpsmith.refactor.lanes.exchanges import Step, calls, reduction_loop, reduction_run, shuffle_of, vote_of
from warpsmith.refactor.preconditions import Unmet
from warpsmith.source import Loop, loops_of
from warpsmith.source.access_paths import place_of
from warpsmith.source.dataflow import declarators, is_in_inner_loop, is_pure
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import LOOPS, ancestors, condition_of, is_within, of_kind, text_of
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_JUMPS = ("break_statement", "continue_statement", "return_statement")
_FEW = 16  # steps of a loop that lanes do one lane after the other
_IGNORED = {"comment", "preproc_call", ";"}


@dataclass(frozen=True, slots=True)
class Once:
    """What is the same in all lanes, done once. Of a declaration, some of its variables: `only`."""

    node: Node = field(repr=False)
    only: tuple[Node, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Each:
    """Statements that each lane does for itself. `exchanges` are what the first of them gets from other lanes."""

    parts: tuple[Once, ...]
    exchanges: tuple[Node, ...] = field(default=(), repr=False)
    leaves: bool = False  # a lane's `return` ends its turn

    @property
    def span(self) -> tuple[int, int]:
        return self.parts[0].node.start_byte, self.parts[-1].node.end_byte


@dataclass(frozen=True, slots=True)
class Given:
    """A statement that is the same in all lanes, with what it gets from their exchange."""

    node: Node = field(repr=False)
    exchanges: tuple[Node, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A loop of shuffles, or several in a row, that leave a value for all lanes."""

    steps: tuple[Step, ...]
    last: Node = field(repr=False)


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop whose steps lanes take in turns: neighbours do neighbouring steps. `apart` is what lies between them.

    `inside`: what lanes do in a step, where they go through its inner loops together.
    """

    loop: Loop
    apart: int
    inside: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """A loop, a condition or a block that all lanes go through together, with what is in it."""

    node: Node = field(repr=False)
    exchanges: tuple[Node, ...] = field(repr=False)
    inside: tuple[Item, ...]
    otherwise: tuple[Item, ...] = ()


Item: TypeAlias = "Once | Each | Given | Reduced | Shared | Nested"


class Planner:
    def __init__(self, lanes: Lanes, barriers: Sequence[Node]) -> None:
        self.lanes = lanes
        self._together = {c.start_byte for c in calls(lanes.body) if self._is_exchange(c)} | {
            b.start_byte for b in barriers if is_within(b, lanes.body)
        }
        self._loops = {loop.node.start_byte: loop for loop in loops_of(lanes.body, lanes.names)}
        for node in of_kind(
            lanes.body, "lambda_expression", "goto_statement", "switch_statement", "do_statement", "gnu_asm_expression"
        ):
            if node.type == "lambda_expression" or self._cooperates(node):
                raise Unmet(f"the kernel has a {node.type.partition('_')[0]}", node)

    def plan(self) -> tuple[Item, ...]:
        return tuple(self._block(self.lanes.body))

    def _is_exchange(self, call: Node) -> bool:
        return shuffle_of(call) is not None or vote_of(call) is not None or self.lanes.is_cooperative_call(call)

    def _cooperates(self, node: Node) -> bool:
        return any(node.start_byte <= at < node.end_byte for at in self._together)

    def _block(self, block: Node) -> Iterator[Item]:  # noqa: C901 - one branch for each kind of item
        statements = (
            [c for c in block.named_children if c.type not in _IGNORED] if block.type == "compound_statement" else [block]
        )
        own: list[Once] = []
        given: tuple[Node, ...] = ()
        place = 0
        while place < len(statements):
            node = statements[place]
            place += 1
            if block == self.lanes.body and self._leaves(node):
                rest = [Once(n) for n in statements[place - 1 :]]
                if any(self._cooperates(n.node) for n in rest) or any(map(self._in_inner_loop, rest)):
                    raise Unmet("a lane may return before other lanes finish exchanging values", node)
                yield Each((*own, *rest), given, leaves=True)
                return
            for part in self._parts(node):
                item = self._item(part, statements[place - 1 :])
                if isinstance(item, Each) and not item.exchanges:
                    own += item.parts
                    continue
                if isinstance(item, Once) and own and self._may_go_first(item, own):
                    yield item
                    continue
                if own:
                    yield Each(tuple(own), given)
                    own, given = [], ()
                if isinstance(item, Each):
                    own, given = list(item.parts), item.exchanges
                    continue
                if item is not None:
                    yield item
                if isinstance(item, Reduced):
                    place += sum(item.last.start_byte >= n.start_byte > node.start_byte for n in statements)
        if own:
            yield Each(tuple(own), given)

    def _parts(self, node: Node) -> Iterator[Once]:
        """A declaration of some variables that differ and some that do not is two."""
        declared = declarators(node)
        differing = [d for d in declared if self.lanes.differs(d)]
        if not differing or len(differing) == len(declared):
            yield Once(node)
            return
        for declarator in declared:
            yield Once(node, (declarator,))

    def _item(self, part: Once, following: Sequence[Node]) -> Item | None:  # noqa: PLR0911 - one return for each kind of item
        node, lanes = part.node, self.lanes
        if (steps := reduction_loop(node, lanes.names)) is not None and lanes.differs(node):
            return Reduced(tuple(steps), node)
        if (steps := reduction_run(following, lanes.names)) is not None and lanes.differs(steps[0].target):
            return Reduced(tuple(steps), following[4])
        scope = part.only or (node,)
        if not any(map(self._cooperates, scope)):
            return self._alone(part, scope)
        if node.type in {"for_statement", "while_statement", "if_statement", "compound_statement"}:
            return self._nested(node)
        if node.type not in {"expression_statement", "declaration", "return_statement"}:
            raise Unmet(f"lanes exchange values inside a {node.type.replace('_', ' ')}", node)
        exchanges = self._exchanges(scope, node)
        if not exchanges:  # a barrier
            alone = lanes.block is Block.ONE and re.match(r"__syncthreads\s*\(", text_of(node))
            return None if alone or text_of(node).startswith("__syncwarp") else Once(node)
        if any(map(lanes.differs, scope)):
            return Each((part,), exchanges)
        return Given(node, exchanges)

    def _exchanges(self, scope: Sequence[Node], node: Node) -> tuple[Node, ...]:
        exchanges = tuple(c for n in scope for c in calls(n) if self._is_exchange(c))
        for call in exchanges:
            if any(other != call and is_within(other, call) for other in exchanges):
                raise Unmet("the operand of an exchange between lanes contains another exchange", call)
            if any(a.type in {"conditional_expression", "lambda_expression"} and is_within(a, node) for a in ancestors(call)):
                raise Unmet("lanes exchange values under a condition", call)
        return exchanges

    def _alone(self, part: Once, scope: Sequence[Node]) -> Item | None:
        node, lanes = part.node, self.lanes
        if text_of(node).startswith("__syncwarp"):
            return None
        if node.type == "return_statement" or not any(map(lanes.differs, scope)):
            return part  # what is returned to all lanes is what the first has
        if node.type == "declaration" and is_shared(node, lanes.names.source):
            return part
        if node.type == "for_statement" and (apart := self._turns(node)) is not None:
            loop = self._loops[node.start_byte]
            return Shared(loop, apart, tuple(self._block(loop.body)) if apart == 1 and self._is_interchanged(loop) else ())
        if self._goes_through(node):
            return self._nested(node)
        return Each((part,))

    def _goes_through(self, node: Node) -> bool:
        """Whether lanes had better go through it together: a long loop, or what has one that they share."""
        if node.type not in {"for_statement", "while_statement", "if_statement", "compound_statement"} or not self._is_common(
            node
        ):
            return False
        loop = self._loops.get(node.start_byte)
        if node.type in LOOPS and (loop is None or loop.trips is None or loop.trips > _FEW):
            return True
        inner = (n for n in of_kind(node, "for_statement", "while_statement") if n != node)
        return any(self._goes_through(n) or (n.type == "for_statement" and self._turns(n) is not None) for n in inner)

    def _is_interchanged(self, loop: Loop) -> bool:
        """Whether lanes go through the inner loops of their steps together, none leaving its step before."""
        inner = list(of_kind(loop.body, "for_statement"))
        jumps = (n for n in of_kind(loop.body, *_JUMPS) if not is_in_inner_loop(n, loop.body))
        if any(True for _ in jumps) or any(self._turns(node) is not None for node in inner):
            return False
        return any(self._runs_along(node, loop) for node in inner)

    def _runs_along(self, inner: Node, loop: Loop) -> bool:
        """Whether lanes that take each step of an inner loop together read neighbouring elements, and its steps do not."""
        stepped = self._loops.get(inner.start_byte)
        if stepped is None or not self._goes_through(inner):
            return False
        names = self.lanes.names
        places = (place_of(node, names) for node in of_kind(stepped.body, "subscript_expression"))
        addresses = [address for place in places if place is not None for address in place.addresses]
        unit = Polynomial.constant(1)
        by_lane = sum(address.coefficient(loop.atom) == unit for address in addresses)
        by_step = sum(address.coefficient(stepped.atom) == unit and address.mentions(loop.atom) for address in addresses)
        return by_lane > by_step

    def _turns(self, node: Node) -> int | None:
        """What lies between neighbouring lanes' steps, where lanes take the loop's steps in turns."""
        loop, lanes = self._loops.get(node.start_byte), self.lanes
        if loop is None or loop.step is None or loop.changes_variable(lanes.names):
            return None
        apart = lanes.step(loop.start)
        if apart is None or apart < 1 or lanes.differs(loop.step) or lanes.differs(loop.bound):
            return None
        leaving = (n for n in of_kind(loop.body, "break_statement", "return_statement"))
        return None if any(n.type == "return_statement" or not is_in_inner_loop(n, loop.body) for n in leaving) else apart

    def _is_common(self, node: Node) -> bool:
        """Whether all lanes come to it alike, and none leaves it on its own."""
        headers = [p for name in ("initializer", "condition", "update") if (p := node.child_by_field_name(name)) is not None]
        if any(map(self.lanes.differs, headers)):
            return False
        for jump in of_kind(node, *_JUMPS):
            for outer in ancestors(jump):
                if outer == node:
                    break
                if (condition := condition_of(outer)) is not None and self.lanes.differs(condition):
                    inner = jump.type != "return_statement" and any(a.type in LOOPS for a in _between(jump, node))
                    if not inner:
                        return False
        return True

    def _nested(self, node: Node) -> Nested:
        if not self._is_common(node):
            raise Unmet("lanes exchange values where the control flow is not warp-uniform", node)
        condition = node.child_by_field_name("condition")
        exchanges = tuple(c for c in calls(condition) if self._is_exchange(c)) if condition is not None else ()
        if exchanges and node.type != "if_statement":
            raise Unmet("a loop's condition contains an exchange between lanes", node)
        if node.type == "compound_statement":
            return Nested(node, (), tuple(self._block(node)))
        if node.type == "if_statement":
            alternative = node.child_by_field_name("alternative")
            other = tuple(self._block(_inner(alternative))) if alternative is not None else ()
            return Nested(node, exchanges, tuple(self._block(child(node, "consequence"))), other)
        return Nested(node, (), tuple(self._block(child(node, "body"))))

    def _leaves(self, node: Node) -> bool:
        """Whether lanes may return there, each on its own."""
        for jump in of_kind(node, "return_statement"):
            for outer in ancestors(jump):
                if outer == self.lanes.body:
                    break
                if (condition := condition_of(outer)) is not None and self.lanes.differs(condition):
                    return True
        return False

    def _in_inner_loop(self, part: Once) -> bool:
        return any(is_in_inner_loop(n, part.node) for n in of_kind(part.node, "return_statement"))

    def _may_go_first(self, item: Once, own: Sequence[Once]) -> bool:
        """Whether a declaration may stand before what lanes do for themselves, so that this stays together."""
        if item.node.type != "declaration" or not is_pure(item.node, self.lanes.names.source):
            return False
        reads = any(True for _ in of_kind(item.node, "subscript_expression", "pointer_expression"))
        writes = any(
            any(True for _ in of_kind(child(a, "left"), "subscript_expression", "pointer_expression"))
            for part in own
            for a in of_kind(part.node, "assignment_expression")
        )
        return not (reads and writes)


def _between(node: Node, outer: Node) -> Iterator[Node]:
    for each in ancestors(node):
        if each == outer:
            return
        yield each


def _inner(alternative: Node) -> Node:
    """The statement behind `else`."""
    return (
        next(c for c in alternative.named_children if c.type != "comment") if alternative.type == "else_clause" else alternative
    )
