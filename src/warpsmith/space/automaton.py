"""`Automaton`: rules as a minimal automaton that reads parameter values one by one.

After each parameter the machine is in one of a few classes of partial assignments. Reading a value leads to the next class, or to
-1: whatever follows, a rule forbids it. Classes are as few as can be: assignments with the same possible continuations are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.space.codes import distinct_rows, numbered
from warpsmith.space.problem import SpaceProblem, crossed
from warpsmith.space.rules import Rule

# Up to this many assignments are evaluated one by one: Python is done before NumPy has begun.
_ONE_BY_ONE = 4
# Tables of fewer answers than this are taken apart by Python, for the same reason.
_FEW = 256
# Up to this many assignments are all evaluated at once; beyond, parameter by parameter, merging what is alike.
_AT_ONCE = 20_000
# Rules with more partial assignments than this, even merged, are evaluated on what the others leave.
_AT_MOST = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """`steps[i][class, position]` is the class after the i-th parameter of `scope`; the first class and the last are 0.

    `feasible` is false when no assignment at all is allowed; then there are no steps.
    """

    scope: tuple[int, ...]
    steps: tuple[Array, ...]
    feasible: bool = True

    @property
    def trivial(self) -> bool:
        """Whether it allows everything."""
        return all(len(step) == 1 for step in self.steps) and all(int(step.min()) == 0 for step in self.steps)

    @property
    def allowed(self) -> int:
        """How many assignments of its own parameters it allows."""
        counts: Array = np.array([1, 0], dtype=object)
        for step in reversed(self.steps):
            counts = np.append(counts[step].sum(axis=1), 0)
        return int(counts[0]) if self.feasible else 0


def automaton_of(problem: SpaceProblem, rules: Sequence[Rule], scope: Sequence[int]) -> Automaton | None:
    """What the rules allow together of their parameters, in this order; None when it would be too large to build by itself."""
    sizes = [problem.sizes[i] for i in scope]
    if prod(sizes) <= _ONE_BY_ONE:
        return _minimal_of_few(tuple(scope), sizes, [allowed - 1 for allowed in problem.allowed_one_by_one(rules, scope)])
    rows: Array = np.zeros((1, 0), dtype=np.int32)
    forward: list[Array] = []
    while len(rows) * prod(sizes[len(forward) :]) > _AT_ONCE and len(forward) < len(sizes) - 1:
        bound = len(forward) + 1
        if len(rows) * sizes[bound - 1] > _AT_MOST:
            return None
        rows = crossed(rows, sizes[bound - 1 : bound])
        first, classes = numbered(*problem.alike(rules, scope[:bound], rows))
        forward.append(classes.reshape(-1, sizes[bound - 1]))
        rows = rows[first]
    if len(rows) * prod(sizes[len(forward) :]) > _AT_MOST:
        return None
    table = problem.table(rules, scope[: len(forward)], rows, scope[len(forward) :])
    classes = table.ravel().view(np.int8) - np.int8(1)
    if not forward and len(classes) < _FEW:
        return _minimal_of_few(tuple(scope), sizes, classes.tolist())
    return _minimal(tuple(scope), sizes, forward, classes)


def _minimal(scope: tuple[int, ...], sizes: list[int], forward: list[Array], classes: Array) -> Automaton:
    """From the last parameter back: classes with the same next classes are the same class."""
    steps: list[Array] = []
    span = 1
    for at in range(len(sizes) - 1, -1, -1):
        table = classes.reshape(-1, sizes[at]) if at >= len(forward) else classes[forward[at]]
        step, classes = distinct_rows(table, span)
        span = len(step)
        steps.append(step.astype(np.int32))
    if not len(classes) or classes[0] < 0:
        return Automaton(scope, (), feasible=False)
    return Automaton(scope, tuple(reversed(steps)))


def _minimal_of_few(scope: tuple[int, ...], sizes: list[int], classes: list[int]) -> Automaton:
    """As `_minimal`, when all assignments were evaluated at once."""
    steps: list[Array] = []
    for size in reversed(sizes):
        known: dict[tuple[int, ...], int] = {}
        none = (-1,) * size
        rows = zip(*[iter(classes)] * size, strict=True)
        classes = [-1 if row == none else known.setdefault(row, len(known)) for row in rows]
        steps.append(np.array(list(known), dtype=np.int32))
    return Automaton(scope, tuple(reversed(steps))) if classes[0] >= 0 else Automaton(scope, (), feasible=False)
