"""`reciprocal`: divisions inside a loop by what does not change there become products with its reciprocal.

Exposes RECIPROCAL: 0 divides in every step, as it was; 1 divides once before the loop and multiplies in it. A product is a
fraction of a division's cost on every device; its result may differ from the quotient's in the last bit.

Precondition: dividend and divisor are surely floats, and the divisor is made of names and numbers that keep their values while
the loop runs; reading memory for it earlier than the original does is not risked. Divisors of zero and infinity give what they
gave; only those below 3e-39 have no finite reciprocal. Constraints: none; the kernel's tolerance decides whether it may be on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names, Tree
from warpsmith.source.dataflow import is_pure
from warpsmith.source.effects import may_change, waits
from warpsmith.source.floats import is_float
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import text_between
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_READING = {"subscript_expression", "pointer_expression", "field_expression"}


@dataclass(frozen=True, slots=True)
class _Division:
    """`loop` is the outermost one in which the divisor keeps its value."""

    node: Node
    divisor: Node
    loop: Node


class Reciprocal:
    name = "reciprocal"
    summary = "one reciprocal before a loop and multiplications inside it, instead of a division per iteration"
    stage = Stage.DECORATE
    priority = -3  # before divisions are sent elsewhere
    concerns = frozenset({Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    found = list(_divisions(names))
    require(found, "no float division in a loop has a divisor that is provably loop-invariant")
    choice, free = fresh_name(subject, "RECIPROCAL"), FreeNames(source.text)
    inverses: dict[tuple[int, str], str] = {}
    lines: dict[Node, list[str]] = {}
    products: dict[Node, list[Edit]] = {}
    for division in found:
        divisor = source.text_of(unwrapped(division.divisor))
        key = division.loop.start_byte, divisor
        if key not in inverses:
            inverses[key] = free.take(f"inverse_{divisor}" if divisor.isidentifier() else "inverse")
            value = f"1.0f / {source.text_of(division.divisor)}"
            lines.setdefault(division.loop, []).append(f"const float {inverses[key]} = {value};")
        products.setdefault(_statement(division.node), []).append(_product(division, inverses[key]))
    edits = [_before(loop, declared, source.tree, choice) for loop, declared in lines.items()]
    for statement, inside in products.items():
        outer = next((other for other in products if other != statement and is_within(statement, other)), None)
        if outer is not None:  # it is written down twice already
            products[outer] += inside
    for statement, inside in products.items():
        if not any(other != statement and is_within(statement, other) for other in products):
            edits.append(_both_ways(statement, inside, source.tree, choice))
    meaning = "1: multiplications by reciprocals computed before the loops, instead of divisions in them"
    tunable = Tunable(choice, (0, 1), 0, meaning, source.line_of(found[0].node))
    return Rewrite(replace(variant, text=source.edited(*edits), tunables=(*variant.tunables, tunable)))


def _divisions(names: Names) -> Iterator[_Division]:
    for node in of_kind(names.source.body, "binary_expression", "assignment_expression"):
        dividend, divisor = field(node, "left"), field(node, "right")
        sign = "/" if node.type == "binary_expression" else "/="
        if text_of(field(node, "operator")) != sign or not is_float(dividend, names) or not is_float(divisor, names):
            continue
        loop = _home(node, divisor, names)
        if loop is not None and not any(a.type == "lambda_expression" for a in ancestors(node)):
            yield _Division(node, divisor, loop)


def _home(node: Node, divisor: Node, names: Names) -> Node | None:
    """The outermost loop around the division before which the divisor can be computed; None when there is none."""
    if any(part.type in _READING or _is_quotient(part) for part in walk(divisor)) or not is_pure(divisor, names.source):
        return None
    found = None
    for loop in (a for a in ancestors(node) if a.type in LOOPS and is_within(a, names.source.body)):
        if not all(_keeps_its_value(use, loop, names) for use in of_kind(divisor, "identifier")):
            return found
        if loop.parent is not None and loop.parent.type == "compound_statement":
            found = loop
    return found


def _keeps_its_value(use: Node, loop: Node, names: Names) -> bool:
    """Whether the name has one value from before the loop to its end."""
    found = names.definition(use)
    declaration = found.node.parent if found.node is not None else None
    # Other threads may give it its value, which is known to be there only behind a barrier.
    shared = declaration is not None and is_shared(declaration, names.source) and waits(loop, names)
    elsewhere = found.origin is Origin.FILE and not found.is_fixed and text_of(use) not in names.source.device_functions
    inside = found.node is not None and is_within(found.node, loop)
    return not (shared or elsewhere or inside or may_change(text_of(use), loop, names))


def _is_quotient(node: Node) -> bool:
    return node.type == "binary_expression" and text_of(field(node, "operator")) in {"/", "%"}


def _statement(node: Node) -> Node:
    """The smallest one around it that stands in a block, so that directives can stand beside it."""
    return next(n for n in (node, *ancestors(node)) if n.parent is not None and n.parent.type == "compound_statement")


def _product(division: _Division, inverse: str) -> Edit:
    left = field(division.node, "left")
    sign = "*" if division.node.type == "binary_expression" else "*="
    return Edit(left.end_byte, division.node.end_byte, f" {sign} {inverse}")


def _before(loop: Node, lines: Sequence[str], tree: Tree, choice: str) -> Edit:
    first, previous = loop, loop.prev_sibling
    if previous is not None and previous.type == "preproc_call":
        first = previous  # a pragma must stay beside its loop
    at = tree.line_start(first)
    head = "" if at != first.start_byte or not at or tree.data[at - 1 : at] == b"\n" else "\n"
    listed = "".join(f"{tree.indentation(loop)}{line}\n" for line in lines)
    return Edit(at, at, f"{head}#if {choice}\n{listed}#endif\n")


def _both_ways(statement: Node, products: list[Edit], tree: Tree, choice: str) -> Edit:
    start, end = tree.line_start(statement), statement.end_byte
    head = "" if tree.data[start - 1 : start] == b"\n" else "\n"
    rest = tree.data[end : tree.data.find(b"\n", end) + 1 or len(tree.data)]
    if rest.strip().startswith(b"//"):
        end += len(rest.rstrip())
        rest = rest[len(rest.rstrip()) :]
    swallowed = len(rest) if not rest.strip() else 0
    new, old = text_between(tree, start, end, products), text_between(tree, start, end)
    return Edit(start, end + swallowed, f"{head}#if {choice}\n{new}\n#else\n{old}\n#endif\n")
