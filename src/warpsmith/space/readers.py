"""The state of rules while the graph is built: one state per node, advanced by the next parameter's values.

Edges are numbered node by node: edge `node * size + position`. A reader answers with a code for each edge, -1 where it forbids
all that could follow, and is given the codes at the new nodes by whoever makes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.space.automaton import Automaton
from warpsmith.space.codes import combined, numbered
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.rules import Rule


def _start() -> Array:
    return np.zeros(1, dtype=np.int32)


class Reader(Protocol):
    """`codes` are what it knows at each node (of `span` possible ones); `read` counts the parameters of its `scope` so far."""

    codes: Array
    span: int
    read: int

    @property
    def scope(self) -> tuple[int, ...]: ...

    def advance(self, edges: Array | None, size: int) -> Array:
        """Read the next parameter, of `size` values, on these edges of all nodes, or on all edges."""
        ...


@dataclass(slots=True, eq=False)
class Early:
    """Rules known as an automaton."""

    automaton: Automaton
    codes: Array = field(default_factory=_start)
    span: int = 1
    read: int = 0

    @property
    def scope(self) -> tuple[int, ...]:
        return self.automaton.scope

    @property
    def classes(self) -> int:
        """How many classes there are before the next parameter."""
        return len(self.automaton.steps[self.read])

    def follow(self) -> tuple[Array, int]:
        """Read the next parameter when the nodes are the classes: its edges are the graph's. Also the number of new nodes."""
        step = self.automaton.steps[self.read]
        self._next()
        self.codes = np.arange(self.span, dtype=np.int32)
        return step, self.span

    def advance(self, edges: Array | None, size: int) -> Array:  # noqa: ARG002 - the automaton knows it
        found: Array = self.automaton.steps[self.read][self.codes].ravel()
        self._next()
        return found if edges is None else found[edges]

    def _next(self) -> None:
        self.read += 1
        self.span = self.classes if self.read < len(self.scope) else 1


@dataclass(slots=True, eq=False)
class Late:
    """A rule too large for an automaton: keeps one assignment for each class of those seen, and is asked at the end."""

    problem: SpaceProblem
    rule: Rule
    scope: tuple[int, ...]
    codes: Array = field(default_factory=_start)
    span: int = 1
    read: int = 0
    rows: Array = field(default_factory=lambda: np.zeros((1, 0), dtype=np.int32))

    def advance(self, edges: Array | None, size: int) -> Array:
        edges = np.arange(len(self.codes) * size) if edges is None else edges
        codes, positions = self.codes[edges // size], edges % size
        self.read += 1
        first, places = numbered(*combined([(codes, self.span), (positions, size)], len(codes)))
        rows = np.column_stack([self.rows[codes[first]], positions[first]])
        bound = self.scope[: self.read]
        if self.read == len(self.scope):
            self.span = 1
            allowed: Array = np.where(self.problem.allowed(self.rule, bound, rows), 0, -1)[places]
            return allowed
        kept, classes = numbered(*self.problem.alike((self.rule,), bound, rows))
        self.rows, self.span = rows[kept], len(kept)
        return classes[places]
