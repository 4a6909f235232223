"""The order in which construction assigns the parameters.

A parameter must be remembered while a rule that uses it waits for another: the fewer values are remembered at a time, the smaller
the graph. So parameters that rules tie together, directly or through others, come one after another: between two such groups
nothing is remembered. Configurations are numbered in this order too, so within a group it is the declared one first. How much is
really remembered shows only in the graph (a product of three parameters is one number), so a greedy order is only worth a try
where it promises far less.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

# Remembering this many combinations takes milliseconds: no reason to leave the order as it is.
_CHEAP = 50_000
# With so few combinations in all, it is not even worth a look.
_FEW = 300_000
_WORTH_IT = 8


def groups_of(count: int, scopes: Sequence[frozenset[int]]) -> dict[int, list[int]]:
    """The parameters 0 … count - 1 in groups that no scope ties to one another, by the first of each."""
    groups = {index: [index] for index in range(count)}
    leader = list(range(count))
    for scope in scopes:
        first, *others = sorted({leader[i] for i in scope})
        for other in others:
            groups[first] += groups[other]
            for index in groups.pop(other):
                leader[index] = first
    return {first: sorted(group) for first, group in groups.items()}


def better_order(order: Sequence[int], sizes: Sequence[int], scopes: Sequence[frozenset[int]]) -> tuple[int, ...] | None:
    """An order that may be far better than the given one, if there is one.

    `sizes` are the parameters' numbers of values, `scopes` the parameters that each rule ties together.
    """
    tied = [scope for scope in scopes if len(scope) > 1]
    if prod(sizes[i] for i in frozenset().union(*tied)) <= _FEW:
        return None
    cost = _cost(order, sizes, tied)
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
