"""Bounds checks inside loops: what each asks in its hardest case, so that it can be asked once before the loop.

A check is a condition that must hold for work to be done (`if (row < m) …`, `inside ? a[…] : 0.0f`), or one under which a loop is
left (`if (row >= m) break;`), and then it is its opposite that is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.writing import removed
from warpsmith.source import Edit, Names
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.symbolic_bounds import End, Extremes
from warpsmith.source.tree import Tree, field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVING = frozenset({"break_statement", "continue_statement", "return_statement"})


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that is true when `asked` are; `rest` has the parts of it that remain to be asked.

    Where the code under it `leaves` the loop (`if (row >= rows) break;`), it is false when `asked` are.
    """

    node: Node  # the `if` or the `? :`
    parts: tuple[Node, ...]
    asked: tuple[str, ...]
    rest: tuple[str, ...] = ()
    leaves: bool = False


def check_of(node: Node, extremes: Extremes, names: Names) -> Check | None:
    condition = field(node, "condition")
    if condition.type == "condition_clause":
        condition = condition.named_children[-1]
    if any(a.type == "init_statement" for a in field(node, "condition").children):
        return None
    if _leaves(node):
        parts = tuple(parts_of(condition, names, "||"))
        never = [hardest_case(part, extremes, negated=True) for part in parts]
        return None if None in never else Check(node, parts, tuple(text for text in never if text), leaves=True)
    asked: list[str] = []
    rest: list[str] = []
    parts = tuple(parts_of(condition, names))
    for part in parts:
        hardest = hardest_case(part, extremes)
        (rest if hardest is None else asked).append(hardest or text_of(part))
    return Check(node, parts, tuple(asked), tuple(rest)) if asked else None


def _leaves(node: Node) -> bool:
    """`if (…) break;` and the like: nothing but that, and nothing otherwise."""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return False
    work = field(node, "consequence")
    done = [n for n in work.named_children if n.type != "comment"] if work.type == "compound_statement" else [work]
    return len(done) == 1 and done[0].type in _LEAVING


def parts_of(condition: Node, names: Names, operator: str = "&&") -> Iterator[Node]:
    """What is joined by the operator, also where a constant stands for it."""
    condition = unwrapped(condition)
    if condition.type == "identifier":
        found = names.definition(condition)
        if found.is_fixed and found.value is not None and _is_join(found.value):
            yield from parts_of(found.value, names, operator)
            return
    if condition.type == "binary_expression" and text_of(field(condition, "operator")) == operator:
        yield from parts_of(field(condition, "left"), names, operator)
        yield from parts_of(field(condition, "right"), names, operator)
        return
    yield condition


def _is_join(value: Node) -> bool:
    value = unwrapped(value)
    return value.type == "binary_expression" and text_of(field(value, "operator")) in {"&&", "<", "<=", ">", ">="}


def hardest_case(part: Node, extremes: Extremes, *, negated: bool = False) -> str | None:
    """The comparison, or its opposite, at its extremes: if it holds there, it holds always. None where that is not known."""
    operator = text_of(field(part, "operator")) if part.type == "binary_expression" else ""
    if operator not in NEGATED:
        return None
    operator = NEGATED[operator] if negated else operator
    if not extremes.signs.is_about_data(part):
        return None  # it is about the tile's own size: that the last thread has nothing to do there is no sign of an edge
    small, large = (field(part, side) for side in (("left", "right") if operator[0] == "<" else ("right", "left")))
    if not (extremes.signs.is_signed(small) and extremes.signs.is_signed(large)) and not extremes.signs.is_natural(small):
        return None  # a negative number would be a large one
    greatest, least = extremes.of(small, End.GREATEST), extremes.of(large, End.LEAST)
    if greatest is None or least is None:
        return None
    strict = len(operator) == 1
    if strict and greatest.endswith(" - 1"):
        greatest, strict = greatest.removesuffix(" - 1"), False
    return f"{greatest} {'<' if strict else '<='} {least}"


def without_check(check: Check, tree: Tree) -> list[Edit]:
    """The statement or value that the condition let through, and of the condition what remains to be asked."""
    if check.leaves:
        alone = check.node.parent is not None and check.node.parent.type == "compound_statement"
        return [removed(tree, [check.node]) if alone else Edit(check.node.start_byte, check.node.end_byte, ";")]
    node, condition = check.node, field(check.node, "condition")
    if check.rest:
        inner = " && ".join(check.rest)
        bare = node.type == "conditional_expression"
        return [Edit(condition.start_byte, condition.end_byte, inner if bare else f"({inner})")]
    chosen = field(node, "consequence")
    wrap = chosen.type in {"assignment_expression", "comma_expression"}
    return [Edit(node.start_byte, chosen.start_byte, "(" * wrap), Edit(chosen.end_byte, node.end_byte, ")" * wrap)]
