"""A thread's own loops as loops that the lanes of its warp share: which can be, and how they are written (`passes.row_lanes`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.preconditions import Unmet
from warpsmith.refactor.writing import FreeNames, cast, operand
from warpsmith.source import Edit, Loop, LoopKind, Names, Polynomial, loops_of
from warpsmith.source.access_paths import place_of, read_places, written_places
from warpsmith.source.accumulators import combination
from warpsmith.source.dataflow import base_name, is_in_inner_loop
from warpsmith.source.effects import declared_type, updates_atomically
from warpsmith.source.independence import carried
from warpsmith.source.threads import is_shared
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

LANES = 32
_INNER = 4  # how often an inner loop is taken to do its step
_NEUTRAL = {"+=": "0", "*=": "1", "^=": "0"}  # what a lane begins with, which changes nothing
_SCALAR = re.compile(r"[A-Za-z_][\w ]*")


def shared_loops(body: Node, names: Names) -> list[Loop]:
    """Of loops inside each other the one along whose steps memory lies best, in the order of the text."""
    loops = [loop for loop in loops_of(body, names) if loop.kind is LoopKind.COUNTED and (loop.trips or LANES) >= LANES // 2]
    scored = [(gain, loop) for loop in loops if (gain := _gain(loop, names)) > 0 and _is_shareable(loop, names)]
    found: list[Loop] = []
    for _, loop in sorted(scored, key=lambda each: -each[0]):
        if not any(is_within(loop.node, other.node) or is_within(other.node, loop.node) for other in found):
            found.append(loop)
    return sorted(found, key=lambda loop: loop.node.start_byte)


def has_rows(body: Node, names: Names) -> bool:
    """Whether a thread by itself goes through memory step by step, in a loop along which it lies better than along threads."""
    return any(loop.kind is LoopKind.COUNTED and _gain(loop, names) > 0 for loop in loops_of(body, names))


def _gain(loop: Loop, names: Names) -> int:
    """Accesses whose neighbours are then neighbours' less those that lie apart; what inner loops do counts for more."""
    total = 0
    for place in (*read_places(loop.body, names), *written_places(loop.body, names)):
        depth = sum(a.type in LOOPS and is_within(a, loop.body) for a in ancestors(place.node))
        for address in place.addresses:
            step = address.coefficient(loop.atom)
            apart = step is None or bool(step.terms)
            total += _INNER**depth * (1 if step == Polynomial.constant(1) else -1 if apart else 0)
    return total


def _is_shareable(loop: Loop, names: Names) -> bool:
    for node in of_kind(loop.body, "break_statement", "return_statement", "goto_statement"):
        if node.type != "break_statement" or not is_in_inner_loop(node, loop.body):
            return False
    if loop.changes_variable(names) or not _SCALAR.fullmatch(loop.type):
        return False
    return all(_collected(name, loop, names) is not None for name in set(carried(loop, names)))


def _collected(name: str, loop: Loop, names: Names) -> tuple[str, str] | None:
    """How steps are combined in a variable from outside, and its type; None where they do more with it."""
    use = next((n for n in of_kind(loop.body, "identifier") if text_of(n) == name), None)
    kind = None if use is None else declared_type(use, names)
    operation = combination(name, loop.body) or _extreme(name, loop.body)
    if kind is None or operation is None or not _SCALAR.fullmatch(kind) or kind == "auto":
        return None
    return operation, kind


def _extreme(name: str, body: Node) -> str | None:
    """`>` for `if (x > name) name = x;`, the only use of the name: it becomes the largest. `<`: the smallest."""
    found: set[str] = set()
    uses = [n for n in of_kind(body, "identifier") if text_of(n) == name]
    for node in of_kind(body, "if_statement"):
        condition, then = unwrapped(field(node, "condition")), field(node, "consequence")
        if condition.type == "condition_clause":
            condition = unwrapped(field(condition, "value"))
        inner = then.named_children if then.type == "compound_statement" else [then]
        stored = inner[0].named_children[0] if len(inner) == 1 and inner[0].type == "expression_statement" else None
        if node.child_by_field_name("alternative") is not None or condition.type != "binary_expression" or stored is None:
            continue
        if stored.type != "assignment_expression" or text_of(field(stored, "left")) != name:
            continue
        sign, sides = text_of(field(condition, "operator")), (field(condition, "left"), field(condition, "right"))
        value = text_of(field(stored, "right"))
        if sign not in {"<", ">", "<=", ">="} or {text_of(side) for side in sides} != {name, value}:
            continue
        found.add(sign[0] if text_of(sides[1]) == name else "<>"["><".index(sign[0])])
        uses = [n for n in uses if not is_within(n, condition) and not is_within(n, stored)]
    return found.pop() if len(found) == 1 and not uses else None


def written_loop(loop: Loop, names: Names, free: FreeNames, lane: str = "threadIdx.x") -> Iterator[Edit]:
    """The loop in steps of a warp, and behind it what puts the lanes' parts together. `lane` is who of them a thread is."""
    lane = cast(Language.CUDA, loop.type.replace("const ", "").strip(), lane)
    start, step = text_of(loop.start), "1" if loop.step is None else operand(text_of(loop.step))
    mine = lane if step == "1" else f"{lane} * {step}"
    yield Edit(loop.start.start_byte, loop.start.end_byte, mine if start == "0" else f"{operand(start)} + {mine}")
    update = field(loop.node, "update")
    width = str(LANES) if step == "1" else f"{LANES} * {step}"
    yield Edit(update.start_byte, update.end_byte, f"{loop.variable} += {width}")
    before: list[str] = []
    after: list[str] = []
    behind: list[str] = []
    for name in sorted(set(carried(loop, names))):
        found = _collected(name, loop, names)
        assert found is not None, "the loop is shareable"
        operation, kind = found
        part = name
        if operation in _NEUTRAL:
            part = free.take(f"{name}_of_lane")
            before.append(f"{kind} {part} = {_NEUTRAL[operation]};")
            behind.append(f"{name} {operation} {part};")
            uses = (n for n in of_kind(loop.body, "identifier") if text_of(n) == name)
            for use in uses:
                yield Edit(use.start_byte, use.end_byte, part)
        after.append(_combined(part, operation, kind, free))
    first = loop.pragma or loop.node
    own_line = first.parent is not None and first.parent.type == "compound_statement"
    if (before or after) and loop.pragma is not None and not own_line:
        raise Unmet("a loop with a pragma stands alone under a condition", loop.node)
    distance = free.take("distance")
    lines = [f"for (int {distance} = {LANES // 2}; {distance} > 0; {distance} /= 2) {{", *(f"  {t}" for t in after), "}", *behind]
    lines = [line.replace("@", distance) for line in lines] if after else ["__syncwarp();"] if _stores(loop, names) else []
    indent = names.source.tree.indentation(loop.node)
    head, tail = ("", "") if own_line else ("{ ", " }")
    if loop.pragma is not None:  # a directive stands at the beginning of its line
        at = names.source.tree.line_start(first)
        yield Edit(at, at, "".join(f"{indent}{line}\n" for line in before))
    else:
        yield Edit(first.start_byte, first.start_byte, head + "".join(f"{line}\n{indent}" for line in before))
    yield Edit(loop.node.end_byte, loop.node.end_byte, "".join(f"\n{indent}{line}" for line in lines) + tail)


def _combined(part: str, operation: str, kind: str, free: FreeNames) -> str:
    other = f"__shfl_xor_sync(0xffffffffu, {part}, @)"
    if operation in {"<", ">"}:
        name = free.take("other")
        return f"const {kind} {name} = {other}; if ({name} {operation} {part}) {part} = {name};"
    if operation.endswith("="):
        return f"{part} {operation} {other};"
    return f"{part} = {operation}({part}, {other});"


def _stores(loop: Loop, names: Names) -> bool:
    """Whether another lane may read what a step writes."""
    written = {root for place in written_places(loop.body, names) for root in place.roots}
    read = {root for place in read_places(names.source.body, names) for root in place.roots}
    return bool(written & read) or "?" in written | read


def by_the_first(
    body: Node, names: Names, loops: Sequence[Loop], lane: str = "threadIdx.x", also: Collection[str] = ()
) -> Iterator[Edit]:
    """What is stored outside the shared loops, one lane stores; what is collected in the variables `also`, it collects."""
    seen: set[int] = set()
    for node in of_kind(body, "assignment_expression", "update_expression", "call_expression"):
        if any(is_within(node, loop.node) for loop in loops):
            continue
        if node.type == "call_expression":
            writes = updates_atomically(node, names)
        else:
            target = field(node, "left" if node.type == "assignment_expression" else "argument")
            writes = place_of(target, names) is not None or text_of(target) in also or is_of_block(target, names)
        if not writes:
            continue
        statement = next((a for a in ancestors(node) if a.type.endswith("statement") or a.type == "declaration"), None)
        if statement is None or statement.type != "expression_statement":
            raise Unmet("a value is stored where it is used", node)
        if statement.start_byte not in seen:
            seen.add(statement.start_byte)
            yield Edit(statement.start_byte, statement.start_byte, f"{{ if ({lane} == 0) ")
            yield Edit(statement.end_byte, statement.end_byte, " }")


def is_of_block(target: Node, names: Names) -> bool:
    """Whether it is an element of an array that the block shares, or a variable of the block's."""
    base = next(of_kind(target, "identifier"), None)
    found = names.source.scopes.declaration(base_name(target), base) if base is not None and base_name(target) else None
    if found is None:
        return False
    declaration = found.node if found.node.type == "declaration" else found.node.parent
    return declaration is not None and declaration.type == "declaration" and is_shared(declaration, names.source)
