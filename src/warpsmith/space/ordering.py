"""In which order construction assigns the parameters.

A parameter must be remembered while a rule that uses it waits for another: the fewer values are remembered at a time, the smaller
the graph. Configurations are numbered in this order too, so the declared order comes first. How much is really remembered shows
only in the graph (a product of three parameters is one number), so a greedy order is only worth a try where it promises far less.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

# Remembering this many combinations takes milliseconds: no reason to leave the declared order.
_CHEAP = 50_000
# With so few combinations in all, it is not even worth a look.
_FEW = 300_000
_WORTH_IT = 8


def better_order(sizes: Sequence[int], scopes: Sequence[frozenset[int]]) -> tuple[int, ...] | None:
    """An order that may be far better than the declared one, if there is one.

    `sizes` are the parameters' numbers of values, `scopes` the parameters that each rule ties together.
    """
    tied = [scope for scope in scopes if len(scope) > 1]
    if prod(sizes[i] for i in frozenset().union(*tied)) <= _FEW:
        return None
    cost = _cost(range(len(sizes)), sizes, tied)
    if cost <= _CHEAP:
        return None
    found = _greedy(sizes, tied)
    return found if _cost(found, sizes, tied) * _WORTH_IT < cost else None


def _remembered(bound: set[int], scopes: Sequence[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*(scope & bound for scope in scopes if not scope <= bound))


def _cost(order: Sequence[int], sizes: Sequence[int], scopes: Sequence[frozenset[int]]) -> int:
    """How many combinations of remembered values there can be, summed over the steps."""
    bound: set[int] = set()
    total = 0
    for index in order:
        bound.add(index)
        total += prod(sizes[i] for i in _remembered(bound, scopes))
    return total


def _greedy(sizes: Sequence[int], scopes: Sequence[frozenset[int]]) -> tuple[int, ...]:
    """Always the parameter after which least is remembered; of several, the one that is needed by most rules."""
    order: list[int] = []
    left = set(range(len(sizes)))
    while left:
        bound = set(order)
        waiting = [scope for scope in scopes if scope & bound and not scope <= bound]

        def merit(index: int, bound: set[int] = bound, waiting: list[frozenset[int]] = waiting) -> tuple[int, int, int]:
            after = prod(sizes[i] for i in _remembered(bound | {index}, scopes))
            return after, -sum(index in scope for scope in waiting), index

        order.append(min(left, key=merit))
        left.remove(order[-1])
    return tuple(order)
