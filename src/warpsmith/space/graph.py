"""`Graph`: the feasible configurations as the paths of a layered graph with counts. It is never necessary to list them.

One layer per parameter. A node is what the rules still have to know of the values chosen so far; an edge is a value. Where
nothing needs to be known (between independent groups of parameters) a layer has a single node, so the graph is as large as the
groups together, not their product. With the number of complete paths behind every edge, number → row and row → number are one
descent each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warpsmith.core.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """`targets[node, position]` is the node of the next layer, -1 for none; `parameter` is the column of a row."""

    parameter: int
    targets: Array


class Graph:
    def __init__(self, layers: Sequence[Layer], *, feasible: bool, bound: int) -> None:
        """`bound` is at least the number of paths; the last layer's targets are 0 or -1."""
        self._layers = tuple(layers)
        # Beyond 64 bits Python's integers do, slower.
        self._kind = np.int64 if bound < 2**63 or self._estimate() < 2**62 else object
        # Of each node and position: complete paths with a lower position; at the end, with any. The last node is the dead end
        # that -1 leads to, with no paths.
        self._below: list[Array] = []
        counts = np.array([1 if feasible else 0, 0], dtype=self._kind)
        for layer in reversed(self._layers):
            nodes, size = layer.targets.shape
            below = np.zeros((nodes + 1, size + 1), dtype=self._kind)
            np.add.accumulate(counts.take(layer.targets), axis=1, out=below[:-1, 1:])
            counts = below[:, -1]
            self._below.append(below)
        self._below.reverse()
        self._size = int(counts[0])

    def _estimate(self) -> float:
        counts = np.array([1.0, 0.0])
        for layer in reversed(self._layers):
            counts = np.append(counts[layer.targets].sum(axis=1), 0.0)
        return float(counts[0])

    @property
    def size(self) -> int:
        return self._size

    @property
    def nodes(self) -> int:
        return sum(len(layer.targets) for layer in self._layers)

    def row(self, number: int) -> Array:
        """One configuration as positions: as `rows`, but quicker for a single one."""
        found: Array = np.empty(len(self._layers), dtype=np.int32)
        node = 0
        for layer, below in zip(self._layers, self._below, strict=True):
            lower = below[node]
            position = int(lower.searchsorted(number, side="right")) - 1
            number -= lower.item(position)
            node = layer.targets.item(node, position)
            found[layer.parameter] = position
        return found

    def rows(self, numbers: Array) -> Array:
        """The configuration of each number, as positions."""
        rest = np.array(numbers, dtype=self._kind)
        found: Array = np.empty((len(rest), len(self._layers)), dtype=np.int32)
        nodes = np.zeros(len(rest), dtype=np.int64)
        for layer, below in zip(self._layers, self._below, strict=True):
            positions = np.count_nonzero(below[nodes] <= rest[:, None], axis=1) - 1
            rest -= below[nodes, positions]
            nodes = layer.targets[nodes, positions]
            found[:, layer.parameter] = positions
        return found

    def number(self, row: Array) -> int:
        """The number of one row, as `numbers`."""
        total, node = 0, 0
        for (layer, below), position in zip(zip(self._layers, self._below, strict=True), self._ordered(row), strict=True):
            if not 0 <= position < below.shape[1] - 1:
                return -1
            total += below.item(node, position)
            node = layer.targets.item(node, position)
            if node < 0:
                return -1
        return total if self._size else -1

    def _ordered(self, row: Array) -> list[int]:
        positions = row.tolist()
        return [positions[layer.parameter] for layer in self._layers]

    def numbers(self, rows: Array) -> Array:
        """The number of each row of positions; -1 for those that are not feasible."""
        rows = np.asarray(rows)
        sizes = np.empty(len(self._layers), dtype=np.int64)
        for layer in self._layers:
            sizes[layer.parameter] = layer.targets.shape[1]
        possible: Array = np.all((rows >= 0) & (rows < sizes), axis=1) & (self._size > 0)
        rows = np.where(possible[:, None], rows, 0)
        total: Array = np.zeros(len(rows), dtype=self._kind)
        nodes = np.where(possible, 0, -1)
        for targets, below, layer in zip(self._with_dead_end, self._below, self._layers, strict=True):
            positions = rows[:, layer.parameter]
            total += below[nodes, positions]
            nodes = targets[nodes, positions]
        found: Array = np.where(nodes >= 0, total, -1)
        return found

    @cached_property
    def _with_dead_end(self) -> list[Array]:
        """Targets with one more node, the dead end, which leads to itself."""
        return [np.pad(layer.targets, ((0, 1), (0, 0)), constant_values=-1) for layer in self._layers]

    def occurring(self) -> list[Array]:
        """For each parameter the positions that some configuration has."""
        found: list[Array] = [np.zeros(0, dtype=np.int64)] * len(self._layers)
        for layer, below in zip(self._layers, self._below, strict=True):
            found[layer.parameter] = np.flatnonzero((below[:, 1:] > below[:, :-1]).any(axis=0))
        return found

    def listed(self) -> Array:
        """All rows in the order of their numbers."""
        found: Array = np.zeros((len(self._layers), self.size), dtype=np.int32)
        if not self.size:
            return found.T
        nodes: Array = np.zeros(1, dtype=np.int32)  # of each path so far
        for layer, below in zip(self._layers, self._below, strict=True):
            if layer.targets.shape[1] == 1:
                nodes = layer.targets[:, 0][nodes]
                continue
            behind = (below[:, 1:] - below[:, :-1]).astype(np.int64, copy=False)
            start, positions = behind.nonzero()
            behind = behind[start, positions]
            following = layer.targets[start, positions]
            # The complete paths behind a path so far stand together.
            if len(layer.targets) == 1:
                found[layer.parameter].reshape(len(nodes), -1)[:] = positions.repeat(behind)
                nodes = np.tile(following, len(nodes))
                continue
            degree = np.bincount(start, minlength=len(below))
            taken = degree[nodes]
            ends = taken.cumsum()
            shift = (degree.cumsum() - degree)[nodes] - (ends - taken)
            edges = np.arange(int(ends[-1])) + shift.repeat(taken)
            column = positions[edges]
            found[layer.parameter] = column if len(column) == self.size else column.repeat(behind[edges])
            nodes = following[edges]
        return found.T
