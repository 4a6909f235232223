"""Threads beyond what there is to do: blocks of another size leave another number of them over, so they must do nothing.

A kernel usually asks whether its place exists (`if (i < n)`). Where something is done without asking, or the question allows for
more than the launch covers, a block's size is only free as far as the number of threads stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import substituted, value_at
from warpsmith.refactor.lifting.linking import Shared
from warpsmith.source.dataflow import base_name, dependents, identifiers, is_pure_call
from warpsmith.source.effects import waits
from warpsmith.source.guards import is_return
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = {"for_statement", "while_statement", "do_statement"}
_BELOW = {"<": 0, ">=": 0, "<=": 1, ">": 1}  # how far a comparison with a limit lets a place reach beyond it
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def as_many_threads(subject: Subject, names: Names, axis: str, share: Shared, was: int, parameter: str) -> Iterator[Rule]:
    """What keeps threads along an axis from doing what nobody did, where their block has another size than it `was`."""
    done = unguarded_effect(names, axis)
    if done is not None:
        reason = unasked(names, done, axis)
    elif _asks_for_more(subject, names, axis, share):
        reason = f"the kernel would do more than {share.whole} along {axis} if there were threads for it"
    else:
        return
    before = substituted(share.part, {parameter: str(was)})
    if share.rounds_down and all(value_at(f"({share.whole}) % ({before})", w.sizes) == 0 for w in subject.kernel.workloads):
        return  # so it must divide anyway
    yield same_threads(share, before, reason)


def same_threads(share: Shared, before: str, reason: str) -> Rule:
    """As many threads as with blocks that had `before` of the whole each."""
    return Rule(f"{share.threads(share.part)} == {share.threads(before)}", f"{reason}: there must be as many threads as there were")


def unasked(names: Names, done: Node, axis: str) -> str:
    """The reason that an effect without a guard is."""
    return f"line {names.source.line_of(done)} asks no thread whether its place along {axis} exists"


def unguarded_effect(names: Names, axis: str, place: str = "threadIdx") -> Node | None:
    """The first thing the kernel does to memory without a condition on the thread's (or the block's) place along the axis."""
    questions = _Questions(names, f"{place}.{axis}")
    return next((effect for effect in _effects(names) if not questions.guard(effect)), None)


class _Questions:
    """Conditions that depend on a thread's or a block's place."""

    def __init__(self, names: Names, place: str) -> None:
        self._names, self._place = names, place
        self._told = dependents({place}, [names.source.body], self._reads)

    def guard(self, effect: Node) -> bool:
        """Whether one of them decides if this is done."""
        inner = effect
        for outer in ancestors(effect):
            if not is_within(outer, self._names.source.body):
                return False
            if outer.type == "if_statement" and is_within(inner, field(outer, "consequence")) and self._is_one(outer):
                return True
            if outer.type in _LOOPS and self._is_one(outer):
                return True
            if outer.type == "compound_statement" and any(map(self._turns_back, _branches_before(outer, inner))):
                return True
            inner = outer
        return False

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


def _effects(names: Names) -> Iterator[Node]:
    """Writes to memory that is not the block's own, and calls that may do anything."""
    for node in of_kind(names.source.body, "assignment_expression", "update_expression", "call_expression"):
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


def _asks_for_more(subject: Subject, names: Names, axis: str, share: Shared) -> bool:
    """Whether every question about the place that can be computed lets through more than there is, on some workload."""
    place = Polynomial.atom(f"blockIdx.{axis}") * Polynomial.atom(f"blockDim.{axis}") + Polynomial.atom(f"threadIdx.{axis}")
    found = [limit for body in names.source.reached() for limit in _limits(body, place, names)]
    defaults = {t.name: t.default for t in subject.variant.tunables}
    answers = []
    for limit, more in found:
        text = names.expression(limit)
        within = [_fits(text, more, share.whole, {**w.sizes, **defaults}) for w in subject.kernel.workloads]
        answers.append(all(fits is not False for fits in within) and not _is_recomputed(limit, names))
    return bool(answers) and not any(answers)


def _fits(limit: str | None, more: int, whole: str, known: dict[str, int]) -> bool | None:
    end, there = (None if limit is None else value_at(limit, known)), value_at(whole, known)
    return None if end is None or there is None else end + more <= there


def _is_recomputed(limit: Node, names: Names) -> bool:
    """Whether an argument in it is not what the launch gave: what it has become is not known."""
    found = (names.definition(use) for use in of_kind(limit, "identifier"))
    return any(definition.origin is Origin.PARAMETER and not definition.is_fixed for definition in found)


def _limits(body: Node, place: Polynomial, names: Names) -> Iterator[tuple[Node, int]]:
    for node in of_kind(body, "binary_expression"):
        sign = text_of(field(node, "operator"))
        sides = (field(node, "left"), field(node, "right"))
        for (one, other), operator in ((sides, sign), (sides[::-1], _MIRRORED.get(sign, ""))):
            if operator in _BELOW and Polynomial.of(one, names) == place:
                yield other, _BELOW[operator]
