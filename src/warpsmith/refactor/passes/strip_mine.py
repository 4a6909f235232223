"""`strip_mine`: a loop is strip-mined, so that a quotient of its counter is constant in each strip.

    for (int w = 0; w < words; ++w) sum += x[w] * scales[w * 8 / 128];
→   for (int first_w = 0; first_w < words; first_w += 16) {
      const int quotient = first_w * 8 / 128;
      for (int w = first_w; …) sum += x[w] * scales[quotient];
    }

Exposes STRIPS: 0 as it was; 1 in strips. What is read by the quotient alone (the scale of a group of quantised values, a row of a
flat index) is then the same for a strip, so compilers read it once, and divide once.

Precondition: a loop that counts up in steps of a known size from where the counter is not negative, which nothing leaves early,
and in it a quotient `counter * a / b` whose value changes at multiples of a known number of steps. The bound does not change.
Constraints: none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable
from warpsmith.refactor.writing import FreeNames, operand
from warpsmith.source import Edit, Loop, LoopKind, Names, Polynomial, loops_of
from warpsmith.source.dataflow import is_in_inner_loop
from warpsmith.source.signs import Signs
from warpsmith.source.statements import text_between
from warpsmith.source.tree import Tree, of_kind, text_of, unwrapped
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = {"identifier", "number_literal", "binary_expression", "parenthesized_expression", "field_expression", "field_identifier"}


class StripMine:
    name = "strip_mine"
    summary = "strip-mining: a quotient of the loop counter is constant in each strip"
    stage = Stage.RESTRUCTURE
    priority = 30
    concerns = frozenset({Concern.TRAFFIC, Concern.COALESCING, Concern.BALANCE})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


@dataclass(frozen=True, slots=True)
class _Strips:
    """A loop, after how much of its counter a new strip begins, and the quotients that keep their value until then."""

    loop: Loop
    length: str
    quotients: tuple[Node, ...] = field(repr=False)


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    source, variant, names = subject.source, subject.variant, names_of(subject)
    signs = Signs(names)
    found = [strips for loop in loops_of(source.body, names) if (strips := _strips(loop, names, signs)) is not None]
    require(found, "no loop has a quotient of its counter that is constant for several iterations")
    # Of loops inside each other the inner one: what it reads, it reads most often.
    inner = [s for s in found if not any(o is not s and _inside(o.loop, s.loop) for o in found)]
    free = FreeNames(source.text)
    text = source.edited(*(edit for strips in inner for edit in _written(strips, subject, free)))
    lines = ", ".join(str(source.line_of(strips.loop.node)) for strips in inner)
    choice = Tunable(
        fresh_name(subject, "STRIPS"),
        (0, 1),
        0,
        f"1: the loop at line {lines} is strip-mined, so that a quotient of its counter is constant in each strip",
        source.line_of(inner[0].loop.node),
        likely=(1,),
    )
    return Rewrite(variant, choice, {1: replace(variant, text=text)})


def _inside(inner: Loop, outer: Loop) -> bool:
    return outer.body.start_byte <= inner.node.start_byte < outer.body.end_byte


def _strips(loop: Loop, names: Names, signs: Signs) -> _Strips | None:
    if loop.kind is not LoopKind.COUNTED or loop.changes_variable(names) or not signs.is_natural(loop.start):
        return None
    if any(not is_in_inner_loop(n, loop.body) for n in of_kind(loop.body, "break_statement")):
        return None
    if any(True for _ in of_kind(loop.body, "goto_statement")) or not _keeps(loop.bound, loop, names):
        return None
    step = 1 if loop.step is None else names.value(loop.step)
    start = names.value(loop.start)
    if step is None or step < 1 or (step > 1 and start is None):
        return None
    lengths: dict[str, list[Node]] = {}
    for node in of_kind(loop.body, "binary_expression"):
        length = _length(node, loop, names)
        if length is None or not _begins_a_strip(length, start, step):
            continue
        if isinstance(length, str) or (length > step and (loop.trips is None or loop.trips * step > length)):
            lengths.setdefault(str(length), []).append(node)
    if not lengths:
        return None
    most = Counter({length: len(nodes) for length, nodes in lengths.items()}).most_common(1)[0][0]
    return _Strips(loop, most, tuple(lengths[most]))


def _begins_a_strip(length: int | str, start: int | None, step: int) -> bool:
    """Whether every strip begins with a step: the first one at a multiple of the length, and the length one of the step."""
    if isinstance(length, str):
        return start == 0 and step == 1
    return start is not None and start % length == 0 and length % step == 0


def _length(node: Node, loop: Loop, names: Names) -> int | str | None:
    """For how much of the counter the quotient keeps its value; None for what is no such quotient."""
    if text_of(child(node, "operator")) != "/":
        return None
    left, right = Polynomial.of(child(node, "left"), names), child(node, "right")
    factor = left.coefficient(loop.atom)
    by = names.value(right)
    if factor is None or left != factor * Polynomial.atom(loop.atom):
        return None
    if by is None:
        is_single = unwrapped(right).type == "identifier" and factor == Polynomial.constant(1)
        return text_of(unwrapped(right)) if is_single and _keeps(right, loop, names) else None
    times = factor.terms.get((), 0) if len(factor.terms) == 1 else None
    if times is None or times < 1 or by < 1 or by % times:
        return None
    return by // times


def _keeps(node: Node, loop: Loop, names: Names) -> bool:
    """Whether an expression has one value before the loop and in all its steps."""
    if node.type not in _PLAIN or any(inner.type not in _PLAIN for inner in _parts(node)):
        return False
    for use in of_kind(node, "identifier"):
        found = names.definition(use).node
        if text_of(use) == loop.variable or names.is_assigned(text_of(use), loop.body):
            return False
        if found is not None and loop.node.start_byte <= found.start_byte < loop.node.end_byte:
            return False
    return True


def _parts(node: Node) -> Iterator[Node]:
    for part in node.named_children:
        yield part
        yield from _parts(part)


def _written(strips: _Strips, subject: Subject, free: FreeNames) -> Iterator[Edit]:
    """The loop inside another one, which names the quotients."""
    loop, source = strips.loop, subject.source
    tree, i = source.tree, loop.variable
    kind = " ".join(word for word in loop.type.split() if word != "const")
    first, last = free.take(f"first_{i}"), free.take(f"last_{i}")
    bound, length, sign = operand(text_of(loop.bound)), strips.length, "<" if loop.ends_below else "<="
    end = f"{first} + {length}" if loop.ends_below else f"{first} + {length} - 1"
    lines = [
        f"for ({kind} {first} = {text_of(loop.start)}; {first} {sign} {text_of(loop.bound)}; {first} += {length}) {{",
        f"  const {kind} {last} = {bound} - {first} < {length} ? {bound} : {end};",
    ]
    named: dict[str, str] = {}
    for node in strips.quotients:
        uses = [n for n in of_kind(node, "identifier") if text_of(n) == i]
        text = text_between(tree, node.start_byte, node.end_byte, [Edit(n.start_byte, n.end_byte, first) for n in uses])
        if text not in named:
            named[text] = free.take(f"quotient_of_{i}")
            lines.append(f"  const auto {named[text]} = {text};")
        yield Edit(node.start_byte, node.end_byte, named[text])
    yield Edit(loop.start.start_byte, loop.start.end_byte, first)
    yield Edit(loop.bound.start_byte, loop.bound.end_byte, last)
    head = loop.pragma or loop.node
    indent = tree.indentation(loop.node)
    if loop.pragma is not None:  # a directive stands at the beginning of its line
        at = tree.line_start(head)
        yield Edit(at, at, "".join(f"{indent}{line}\n" for line in lines))
    else:
        yield Edit(head.start_byte, head.start_byte, "".join(f"{line}\n{indent}" for line in lines) + "  ")
    yield Edit(loop.node.end_byte, loop.node.end_byte, f"\n{indent}}}")
    yield from _indented(tree, loop.node)


def _indented(tree: Tree, node: Node) -> Iterator[Edit]:
    """The lines of a statement further to the right."""
    at = tree.data.find(b"\n", node.start_byte, node.end_byte) + 1
    while at:
        if tree.data[at : at + 1] not in {b"#", b"\n"}:
            yield Edit(at, at, "  ")
        at = tree.data.find(b"\n", at, node.end_byte) + 1
