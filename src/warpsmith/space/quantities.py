"""Products and quotients of parameters in a kernel's launch and constraints, as additional features.

A tile of 64 with 4 elements a thread runs by its 16 threads, and those matter as much as either number: `TILE / THREAD` is in the
launch. Constant factors, workload sizes and device limits are left out: they say nothing about one configuration against another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from warpsmith.core.expression.nodes import Binary, Call, Literal, Name, Node, children
from warpsmith.space.rules import Rule

# Power of each parameter, in the order of their names: (("THREAD", -1), ("TILE", 1)).
Quantity: TypeAlias = tuple[tuple[str, int], ...]
_Powers: TypeAlias = dict[str, int]

_QUOTIENTS = ("/", "//")


def quantities(rules: Iterable[Rule], parameters: Collection[str]) -> tuple[Quantity, ...]:
    """Each once, of fewer parameters first, then in the order of the rules. A quantity and its reciprocal are the same."""
    found: dict[Quantity, None] = {}
    for powers in _all_powers(rules, parameters):
        named = sorted((name, power) for name, power in powers.items() if power)
        if len(named) > 1:
            sign = 1 if named[0][1] > 0 else -1
            found.setdefault(tuple((name, sign * power) for name, power in named))
    return tuple(sorted(found, key=len))


def _all_powers(rules: Iterable[Rule], parameters: Collection[str]) -> Iterator[_Powers]:
    for rule in rules:
        together: _Powers = {}  # extents along several axes: what is limited is their product
        for expression in rule.expressions:
            found = [_powers(node, parameters) for node in _nodes(expression.tree)]
            yield from (powers for powers in found if powers is not None)
            together = _joined(together, found[0] or {}, 1)
        yield together


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _powers(node: Node, parameters: Collection[str]) -> _Powers | None:
    """None for what is no product of powers; names that are no parameters count as constants."""
    match node:
        case Literal():
            return {}
        case Name(name=name):
            return {name: 1} if name in parameters else {}
        case Binary(operator=operator, left=left, right=right) if operator == "*" or operator in _QUOTIENTS:
            sign = 1 if operator == "*" else -1
        case Call(function="ceildiv", arguments=(left, right)):
            sign = -1
        case _:
            return None
    first, second = _powers(left, parameters), _powers(right, parameters)
    return None if first is None or second is None else _joined(first, second, sign)


def _joined(first: _Powers, second: _Powers, sign: int) -> _Powers:
    return {name: first.get(name, 0) + sign * second.get(name, 0) for name in (*first, *second)}
