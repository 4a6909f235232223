"""Threads beyond what there is to do: blocks of another size leave another number of them over, so they must do nothing.

A kernel usually asks whether its place exists (`if (i < n)`). Where something is done without asking, or the question allows for
more than the launch covers, a block's size is only free as far as the number of threads stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import substituted, value_at
from warpsmith.refactor.lifting.linking import Shared
from warpsmith.source.assembly import Assembly, kind_of
from warpsmith.source.comparisons import MIRRORED
from warpsmith.source.dataflow import base_name, dependents, identifiers, is_pure_call
from warpsmith.source.effects import waits
from warpsmith.source.guards import is_return
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_BELOW = {"<": 0, ">=": 0, "<=": 1, ">": 1}  # how far a comparison with a limit lets a place reach beyond it


@dataclass(frozen=True, slots=True)
class Line:
    """Threads in a row: those along an axis of the block, of all blocks along an axis of the grid, as a rule the same."""

    threads: str
    blocks: str

    @classmethod
    def along(cls, axis: str) -> Line:
        return cls(axis, axis)


def as_many_threads(subject: Subject, names: Names, line: Line, share: Shared, was: int, parameter: str) -> Iterator[Rule]:
    """What keeps threads along a line from doing what nobody did, where their block has another size than it `was`."""
    done = unguarded_effect(names, line.threads)
    if done is not None:
        reason = unasked(names, done, line.threads)
    elif asks_for_more(subject, names, line, share):
        reason = beyond(share, line.blocks)
    else:
        return
    before = substituted(share.part, {parameter: str(was)})
    if share.rounds_down and all(value_at(f"({share.whole}) % ({before})", w.sizes) == 0 for w in subject.kernel.workloads):
        return  # so it must divide anyway
    yield same_threads(share, before, reason)


def same_threads(share: Shared, before: str, reason: str) -> Rule:
    """As many threads as with blocks that had `before` of the whole each."""
    return Rule(f"{share.threads(share.part)} == {share.threads(before)}", f"{reason}: the number of threads must stay the same")


def unasked(names: Names, done: Node, axis: str) -> str:
    """The reason that an effect without a guard is."""
    return f"line {names.source.line_of(done)} does not check whether a thread's index along {axis} is in range"


def beyond(share: Shared, axis: str) -> str:
    """The reason that a question is which allows for more than there is."""
    return f"additional threads along {axis} would process more than {share.whole}"


def unguarded_effect(names: Names, axis: str, place: str = "threadIdx") -> Node | None:
    """The first thing the kernel does to memory without a condition on the thread's (or the block's) place along the axis."""
    questions = _Questions(names, f"{place}.{axis}")
    return next((effect for effect in effects(names.source.body, names) if not questions.guard(effect)), None)


class _Questions:
    """Conditions that depend on a thread's or a block's place."""

    def __init__(self, names: Names, place: str) -> None:
        self._names, self._place = names, place
        self._told = dependents({place}, [names.source.body], self._reads)

    def guard(self, effect: Node) -> bool:
        """Whether one of them decides if this is done."""
        return any(True for _ in self.asked_before(effect))

    def asked_before(self, effect: Node) -> Iterator[Node]:
        """The statements whose condition must let a thread through before this is done."""
        inner = effect
        for outer in ancestors(effect):
            if not is_within(outer, self._names.source.body):
                return
            if outer.type == "if_statement" and is_within(inner, field(outer, "consequence")) and self._is_one(outer):
                yield outer
            if outer.type in LOOPS and self._is_one(outer):
                yield outer
            if outer.type == "compound_statement":
                yield from filter(self._turns_back, _branches_before(outer, inner))
            inner = outer

    def _is_one(self, statement: Node) -> bool:
        condition = statement.child_by_field_name("condition")
        return condition is not None and not self._told.isdisjoint(self._reads(condition))

    def _turns_back(self, statement: Node) -> bool:
        consequence = field(statement, "consequence")
        inside = [c for c in consequence.named_children if c.type != "comment"] or [consequence]
        leaves = is_return(consequence) or "continue_statement" in {consequence.type, inside[-1].type}
        return leaves and self._is_one(statement)

    def _reads(self, node: Node) -> set[str]:
        parts = of_kind(node, "field_expression", "call_expression", "identifier")
        asks = any(Polynomial.of(part, self._names).mentions(self._place) for part in parts)
        return {*identifiers(node), *([self._place] if asks else [])}


def _branches_before(block: Node, statement: Node) -> Iterator[Node]:
    return (child for child in block.named_children if child.end_byte <= statement.start_byte and child.type == "if_statement")


def effects(within: Node, names: Names) -> Iterator[Node]:
    """Writes to memory that is not the block's own, and calls that may do anything."""
    for node in of_kind(within, "assignment_expression", "update_expression", "call_expression", "gnu_asm_expression"):
        if node.type == "gnu_asm_expression":
            if kind_of(node) not in {Assembly.OWN, Assembly.LANE}:
                yield node
            continue
        if node.type == "call_expression":
            if not is_pure_call(node, names.source) and not waits(node, names):
                yield node
            continue
        target = unwrapped(field(node, "left" if node.type == "assignment_expression" else "argument"))
        if target.type in {"subscript_expression", "pointer_expression", "field_expression"} and not _is_own(target, names):
            yield node


def _is_own(target: Node, names: Names) -> bool:
    """An array of the thread's or the block's own."""
    bases = [n for n in of_kind(target, "identifier") if text_of(n) == base_name(target)]
    found = names.definition(bases[0]) if bases else None
    if found is None or found.node is None or found.origin not in {Origin.LOCAL, Origin.LOOP}:
        return False
    return not any(True for _ in of_kind(found.node, "pointer_declarator", "reference_declarator"))


def asks_for_more(subject: Subject, names: Names, line: Line, share: Shared) -> bool:
    """Whether all that is asked before something is done, as far as it can be computed, lets through more than there is.

    One effect is enough: a second table may be longer than what the launch was made for.
    """
    questions = _Questions(names, f"threadIdx.{line.threads}")
    defaults = {t.name: t.default for t in subject.variant.tunables}

    def is_within_it(limit: Node, more: int) -> bool:
        text = names.expression(limit)
        within = [_fits(text, more, share.whole, {**w.sizes, **defaults}) for w in subject.kernel.workloads]
        return all(fits is not False for fits in within) and not _is_recomputed(limit, names)

    elsewhere = [limit for body in names.source.reached() if body != names.source.body for limit in _limits(body, line, names)]
    for effect in effects(names.source.body, names):
        asked = [field(statement, "condition") for statement in questions.asked_before(effect)]
        limits = [limit for condition in asked for limit in _limits(condition, line, names)]
        if effect.type == "call_expression":  # a function may ask for itself
            limits += elsewhere
        if limits and not any(is_within_it(*limit) for limit in limits):
            return True
    return False


def _fits(limit: str | None, more: int, whole: str, known: dict[str, int]) -> bool | None:
    end, there = (None if limit is None else value_at(limit, known)), value_at(whole, known)
    return None if end is None or there is None else end + more <= there


def _is_recomputed(limit: Node, names: Names) -> bool:
    """Whether an argument in it is not what the launch gave: what it has become is not known."""
    found = (names.definition(use) for use in of_kind(limit, "identifier"))
    return any(definition.origin is Origin.PARAMETER and not definition.is_fixed for definition in found)


def _limits(node: Node, line: Line, names: Names) -> Iterator[tuple[Node, int]]:
    for comparison in of_kind(node, "binary_expression"):
        sign = text_of(field(comparison, "operator"))
        sides = (field(comparison, "left"), field(comparison, "right"))
        for (one, other), operator in ((sides, sign), (sides[::-1], MIRRORED.get(sign, ""))):
            if operator in _BELOW and _is_place(Polynomial.of(one, names), line):
                yield other, _BELOW[operator]


def _is_place(value: Polynomial, line: Line) -> bool:
    """A thread's place among all of them along a line: its own, after so many for each block before."""
    before = value - Polynomial.atom(f"threadIdx.{line.threads}")
    blocks = before.coefficient(f"blockIdx.{line.blocks}")
    return blocks is not None and bool(blocks.terms) and before == blocks * Polynomial.atom(f"blockIdx.{line.blocks}")
