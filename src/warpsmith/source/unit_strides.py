"""Strided loops that count elements in groups, made to count the groups: what most loops with a vector for each thread do.

    for (int i = threadIdx.x * 4; i < n; i += blockDim.x * 4) {
      use(i);
    }
→
    for (int i_4 = threadIdx.x; i_4 < (n + 4 - 1) / 4; i_4 += blockDim.x) {
      const int i = i_4 * 4;
      use(i);
    }

The meaning is the same: `i` is a multiple of 4 and not negative, so `i < n` says that `i / 4 < ceil(n / 4)`, and the new bound
does not overflow where the loop's own last step did not. The tokens are not the same: it is a form for passes to start from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.kernel import KernelSource
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.statements import has_directives
from warpsmith.source.tree import Edit, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_PLACES = re.compile(r"(?:(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]|\d+|[+*/%&()]|>>)+")
_ATOMS = frozenset({"identifier", "field_expression", "number_literal", "call_expression"})
_LARGEST = 64  # elements of a group


def with_unit_strides(source: KernelSource) -> str:
    """The whole file's text; as it was where there is no such loop."""
    if source.has_errors() or has_directives(source.body):
        return source.text
    names = Names(source)
    edits, done = list[Edit](), list[Loop]()
    for loop in loops_of(source.body, names):
        found = [] if any(is_within(loop.node, outer.node) for outer in done) else list(_edits(loop, names))
        if found:
            edits += found
            done.append(loop)
    return source.edited(*edits)


def _edits(loop: Loop, names: Names) -> Iterator[Edit]:
    if loop.kind is not LoopKind.OTHER or loop.step is None or not loop.ends_below or loop.changes_variable(names):
        return
    first = Polynomial.of(loop.start, names)
    is_natural = all(map(_OF_PLACES.fullmatch, first.atoms)) and all(factor > 0 for factor in first.terms.values())
    apart = [
        factor for places, factor in first.terms.items() if any(place.startswith(("threadIdx", "(threadIdx")) for place in places)
    ]
    if not is_natural or not apart:
        return
    for group in (*_factors(loop.start), *_factors(loop.step)):
        size = names.value(group)
        if size == min(apart) and 2 <= size <= _LARGEST:
            start, step = _divided(loop.start, size, names), _divided(loop.step, size, names)
            if start is not None and step is not None:
                yield from _counting_groups(loop, names, names.source.text_of(group), (start, step, size))
                return


def _counting_groups(loop: Loop, names: Names, group: str, header: tuple[str, str, int]) -> Iterator[Edit]:
    start, step, size = header
    tree = names.source.tree
    counter = f"{loop.variable}_{re.sub(r'[^A-Za-z0-9_]', '', group)}"
    if any(text_of(node) == counter for node in of_kind(tree.root, "identifier")):
        return
    kind = re.sub(r"\b(?:const|volatile)\b", "", loop.type).strip()
    whole = names.value(loop.bound)
    bound = f"{_operand(loop.bound, names)} / {group}" if whole is not None and whole % size == 0 else None
    bound = bound or _divided(loop.bound, size, names) or f"({_operand(loop.bound, names)} + {group} - 1) / {group}"
    written = f"for ({kind} {counter} = {start}; {counter} < {bound}; {counter} += {step}) "
    begin = f"const {kind} {loop.variable} = {counter} * {group};"
    yield Edit(loop.node.start_byte, loop.body.start_byte, written + ("" if _is_block(loop.body) else f"{{ {begin} "))
    if _is_block(loop.body):
        inside = loop.body.children[0].end_byte
        yield Edit(inside, inside, f"\n{tree.indentation(loop.node)}  {begin}")
    else:
        yield Edit(loop.body.end_byte, loop.body.end_byte, " }")


def _is_block(body: Node) -> bool:
    return body.type == "compound_statement"


def _factors(node: Node) -> Iterator[Node]:
    node = unwrapped(node)
    if node.type == "binary_expression" and text_of(field(node, "operator")) == "*":
        yield from _factors(field(node, "right"))
        yield from _factors(field(node, "left"))
    else:
        yield node


def _divided(node: Node, size: int, names: Names) -> str | None:  # noqa: PLR0911 - one return for each kind of expression
    """The expression without a factor of this value, in its own words; None where it has none."""
    node = unwrapped(node)
    if node.type == "number_literal":
        value = names.value(node)
        return str(value // size) if value is not None and value % size == 0 else None
    if node.type == "identifier":
        found = names.definition(node)
        follow = found.is_fixed and found.value is not None and found.origin is Origin.LOCAL and _is_steady(found.value, names)
        return _divided(found.value, size, names) if follow and found.value is not None else None
    if node.type != "binary_expression":
        return None
    left, operator, right = field(node, "left"), text_of(field(node, "operator")), field(node, "right")
    if operator == "*":
        for factor, other in ((right, left), (left, right)):
            if names.value(factor) == size:
                return _operand(other, names)
        for part, other in ((right, left), (left, right)):
            if (rest := _divided(part, size, names)) is not None:
                return f"{_operand(other, names)} * ({rest})"
    if operator in {"+", "-"}:
        parts = [_divided(part, size, names) for part in (left, right)]
        return None if None in parts else f"({parts[0]} {operator} {parts[1]})"
    return None


def _is_steady(value: Node, names: Names) -> bool:
    """Whether it means the same anywhere: made of nothing that changes."""
    places = [n for n in of_kind(value, "field_expression") if names.builtin(n) is not None]
    others = (n for n in of_kind(value, "identifier") if not any(is_within(n, place) for place in places))
    reads = any(True for _ in of_kind(value, "subscript_expression", "pointer_expression", "call_expression"))
    return not reads and all(names.definition(other).is_fixed for other in others)


def _operand(node: Node, names: Names) -> str:
    text = names.source.text_of(unwrapped(node))
    return text if unwrapped(node).type in _ATOMS else f"({text})"
