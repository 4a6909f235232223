"""What lanes of a warp give each other: shuffles, votes, and loops of shuffles that leave a sum or a maximum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.lanes.common import LANES
from warpsmith.source import Names
from warpsmith.source.tree import field as child
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_SHUFFLE = re.compile(r"__shfl(?:_(?P<way>xor|down|up))?(?P<masked>_sync)?")
_VOTE = re.compile(r"__(?P<what>any|all|ballot)(?P<masked>_sync)?")
_HALVES = re.compile(r"(?P<o>\w+)(?:/=2|>>=1|=(?P=o)/2|=(?P=o)>>1)")
_DOUBLES = re.compile(r"(?P<o>\w+)(?:\*=2|<<=1|=(?P=o)\*2|=(?P=o)<<1)")


@dataclass(frozen=True, slots=True)
class Shuffle:
    """`way`: xor, down, up, or nothing where `by` is the lane itself. `width`: lanes that are a group, if not all."""

    call: Node = field(repr=False)
    way: str
    value: Node = field(repr=False)
    by: Node = field(repr=False)
    width: Node | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Vote:
    call: Node = field(repr=False)
    what: str
    condition: Node = field(repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """`target = target ∘ (what another lane has)`, one shuffle of a reduction."""

    statement: Node = field(repr=False)
    target: Node = field(repr=False)
    shuffle: Shuffle


def shuffle_of(call: Node) -> Shuffle | None:
    found = _SHUFFLE.fullmatch(text_of(child(call, "function")))
    given = child(call, "arguments").named_children
    given = given[1:] if found and found["masked"] else given
    if found is None or len(given) not in {2, 3}:
        return None
    return Shuffle(call, found["way"] or "", given[0], given[1], given[2] if len(given) > 2 else None)


def vote_of(call: Node) -> Vote | None:
    found = _VOTE.fullmatch(text_of(child(call, "function")))
    given = child(call, "arguments").named_children
    given = given[1:] if found and found["masked"] else given
    return Vote(call, found["what"], given[0]) if found is not None and len(given) == 1 else None


def reduction_loop(loop: Node, names: Names) -> list[Step] | None:
    """The steps of `for (o = 16; o > 0; o /= 2) v += __shfl_xor_sync(mask, v, o);` and its like; None for another loop."""
    offset = _offset(loop, names) if loop.type == "for_statement" else None
    if offset is None:
        return None
    body = child(loop, "body")
    statements = [c for c in (body.named_children if body.type == "compound_statement" else [body]) if c.type != "comment"]
    steps = [step for s in statements if (step := step_of(s)) is not None and text_of(step.shuffle.by) == offset]
    return steps if steps and len(steps) == len(statements) else None


def reduction_run(statements: Sequence[Node], names: Names) -> list[Step] | None:
    """The same written out: the first five statements, for 16, 8, 4, 2 and 1 (or the other way round)."""
    steps = [step for s in statements[:5] if (step := step_of(s)) is not None]
    by = [names.value(step.shuffle.by) for step in steps]
    same = len({text_of(step.target) for step in steps}) == 1
    return steps[:1] if same and by in ([16, 8, 4, 2, 1], [1, 2, 4, 8, 16]) else None


def step_of(statement: Node) -> Step | None:
    node = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else statement
    if node.type != "assignment_expression" or child(node, "left").type != "identifier":
        return None
    target, value = child(node, "left"), child(node, "right")
    found = [s for c in of_kind(value, "call_expression") if (s := shuffle_of(c)) is not None]
    if len(found) != 1 or found[0].way not in {"xor", "down"} or text_of(unwrapped(found[0].value)) != text_of(target):
        return None
    own = [n for n in of_kind(value, "identifier") if text_of(n) == text_of(target) and not is_within(n, found[0].call)]
    if len(own) != (1 if text_of(child(node, "operator")) == "=" else 0):
        return None
    return Step(statement, target, found[0])


def called(call: Node) -> str:
    """The name of the function, without its namespaces and template arguments."""
    return text_of(child(call, "function")).partition("<")[0].rpartition("::")[2].strip()


def calls(within: Node) -> Iterator[Node]:
    return of_kind(within, "call_expression")


def _offset(loop: Node, names: Names) -> str | None:
    """The variable that halves from 16 to 1, or doubles from 1 to 16."""
    first, condition, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
    begun = next(of_kind(first, "init_declarator"), None) if first is not None else None
    if begun is None or condition is None or update is None or condition.type != "binary_expression":
        return None
    name, start = text_of(child(begun, "declarator")), names.value(child(begun, "value"))
    sign, end = text_of(child(condition, "operator")), names.value(child(condition, "right"))
    step = re.sub(r"\s+", "", text_of(update))
    halves, doubles = _HALVES.fullmatch(step), _DOUBLES.fullmatch(step)
    down = start == LANES // 2 and (sign, end) in {(">", 0), (">=", 1), ("!=", 0)} and halves and halves["o"] == name
    up = start == 1 and (sign, end) in {("<", LANES), ("<=", LANES // 2)} and doubles and doubles["o"] == name
    return name if down or up else None
