"""How many copies unrolling makes of code that branches: compilers take tens of seconds, or give up, where there are thousands.

Straight-line code is another matter: a thousand multiply-adds compile in a second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Rule, Subject, Tunable
from warpsmith.source import Loop, Names, loops_of
from warpsmith.source.tree import is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# On the CPU device, where a branch becomes a mask: 324 guarded reads of a convolution take 3 s, 648 of them 8 s, 1296 28 s.
_MOST_BRANCHES = 512
_PRAGMA = re.compile(r"#\s*pragma\s+unroll(?:\s+\(?(\w+)\)?)?\s*")


def branch_rules(subject: Subject, names: Names, chosen: Mapping[int, Tunable]) -> tuple[Rule, ...]:
    """Bounds on unrolled branches, where parameters can exceed them. `chosen`: the unrolling of loops, by their start bytes."""
    known = {tunable.name: tunable for tunable in (*subject.variant.tunables, *chosen.values())}
    found: dict[str, Rule] = {}
    for body in subject.source.reached():
        loops = list(loops_of(body, names, assigned=True))
        for loop in loops:
            own = _branches(loop, loops)
            around = [outer for outer in loops if outer.node == loop.node or is_within(loop.node, outer.node)]
            factors = [_copies(outer, chosen.get(outer.node.start_byte), names, known) for outer in around]
            rule = _rule(loop, [str(own), *factors], known) if own else None
            if rule is not None:
                found[rule.expression] = rule
    return tuple(found.values())


def _rule(loop: Loop, factors: list[str], known: Mapping[str, Tunable]) -> Rule | None:
    if prod(_most(Expression.parse(factor), known) for factor in factors) <= _MOST_BRANCHES:
        return None
    count = Expression.parse(" * ".join(factor for factor in factors if factor != "1"))
    # What the author wrote is possible, whatever it takes.
    bound = max(_MOST_BRANCHES, int(count.evaluate({name: known[name].default for name in count.names})))
    reason = f"more than {bound} unrolled branches in the loop over {loop.variable} take too long to compile"
    return Rule(f"{count.text} <= {bound}", reason)


def _most(factor: Expression, known: Mapping[str, Tunable]) -> int:
    names = sorted(factor.names)
    return max(
        int(factor.evaluate(dict(zip(names, values, strict=True)))) for values in product(*(known[name].values for name in names))
    )


def _branches(loop: Loop, loops: list[Loop]) -> int:
    """Those that are in this loop but in none inside it."""
    inner = [other.node for other in loops if other.node != loop.node and is_within(other.node, loop.node)]
    branches = of_kind(loop.body, "conditional_expression", "if_statement")
    return sum(not any(is_within(branch, node) for node in inner) for branch in branches)


def _copies(loop: Loop, tunable: Tunable | None, names: Names, known: Mapping[str, Tunable]) -> str:
    """How often the loop is unrolled, as an expression over parameters; once where that is left to the compiler."""
    pragma = _PRAGMA.fullmatch(text_of(loop.pragma)) if loop.pragma is not None else None
    if tunable is not None:
        whole = _trips(loop, names, known) if pragma is not None and pragma[1] is None else None
        return f"({whole} if {tunable.name} == 0 else {tunable.name})" if whole is not None else f"max({tunable.name}, 1)"
    if pragma is None:
        return "1"
    stated = pragma[1]
    return (_trips(loop, names, known) or "1") if stated is None else stated if stated.isdigit() or stated in known else "1"


def _trips(loop: Loop, names: Names, known: Mapping[str, Tunable]) -> str | None:
    if loop.trips is not None:
        return str(loop.trips)
    first, last, step = (_expression(node, names) for node in (loop.start, loop.bound, loop.step))
    if first is None or last is None or step is None:
        return None
    length = last if first == "0" else f"{last} - ({first})"
    text = f"ceildiv({length}, {step})" if step != "1" else length if length.isidentifier() else f"({length})"
    return text if Expression.parse(text).names <= known.keys() else None


def _expression(node: Node | None, names: Names) -> str | None:
    return "1" if node is None else names.expression(node)
