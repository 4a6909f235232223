"""`SpaceProblem`: parameters, rules and workloads, and what the rules say of many assignments at once.

An assignment is a row of positions in the parameters' value lists. A rule must allow it on every workload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Name, Node, children, names_in
from warpsmith.core.expression.vector import packed
from warpsmith.space.carry import Bits, bits_of, carried
from warpsmith.space.codes import combined, value_codes
from warpsmith.space.rules import Rule
from warpsmith.spec.kernel import Parameter


@dataclass(frozen=True)
class SpaceProblem:
    """`settings` are the assignments of all other names, one for each workload: a configuration must be allowed in every one."""

    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...]
    settings: Mapping[str, Mapping[str, Value]]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(parameter.values) for parameter in self.parameters)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {parameter.name: i for i, parameter in enumerate(self.parameters)}

    @cached_property
    def _packed(self) -> dict[int, Array]:
        return {}

    def _values(self, index: int) -> Array:
        """A parameter's values as a column; only those of parameters that rules use are ever made."""
        found = self._packed.get(index)
        if found is None:
            found = self._packed[index] = packed(list(self.parameters[index].values))
        return found

    @cached_property
    def _bits(self) -> Bits:
        shared = frozenset().union(*self.settings.values())
        found = {name: bits_of(tuple(s[name] for s in self.settings.values() if name in s)) for name in shared}
        return {**found, **{parameter.name: bits_of(parameter.values) for parameter in self.parameters}}

    def scope(self, rule: Rule) -> frozenset[int]:
        """The parameters that the rule uses."""
        return frozenset(self._places[name] for name in rule.names if name in self._places)

    def always(self, rule: Rule) -> bool:
        """Whether a rule that uses no parameter holds on every workload."""
        return all(map(rule.holds, self._distinct(rule.names)))

    def table(self, rules: Sequence[Rule], bound: Sequence[int], rows: Array, rest: Sequence[int]) -> Array:
        """Which continuations of the rows by all combinations of `rest` the rules allow; there is an axis for each of these."""
        axes: dict[str, Array] = {}
        for name, column in self._columns(bound, rows).items():
            axes[name] = column.reshape(-1, *(1 for _ in rest))
        for at, i in enumerate(rest, start=1):
            axes[self.parameters[i].name] = self._values(i).reshape((-1,) + (1,) * (len(rest) - at))
        found: Array | bool = True
        for rule in rules:
            for setting in self._distinct(rule.names):
                allowed = rule.allows_grid({**setting, **axes})
                if allowed is None:
                    found = found & self._table_by_rows(rule, bound, rows, rest)
                    break
                found = allowed if found is True else found & allowed
        shape = (len(rows), *(self.sizes[i] for i in rest))
        if isinstance(found, np.ndarray) and found.size == prod(shape):
            return found.reshape(shape)
        return np.broadcast_to(found, shape)

    def _table_by_rows(self, rule: Rule, bound: Sequence[int], rows: Array, rest: Sequence[int]) -> Array:
        """What `table` says of one rule, over the axes that it uses."""
        used = [self.parameters[i].name in rule.names for i in rest]
        own = [i for i, needed in zip(rest, used, strict=True) if needed]
        allowed = self.allowed(rule, [*bound, *own], crossed(rows, [self.sizes[i] for i in own]))
        return allowed.reshape(len(rows), *(self.sizes[i] if needed else 1 for i, needed in zip(rest, used, strict=True)))

    def allowed(self, rule: Rule, bound: Sequence[int], rows: Array) -> Array:
        """Which rows the rule allows on every workload; the columns are the positions of the parameters `bound`."""
        columns = self._columns(bound, rows)
        return reduce(np.logical_and, (rule.allows({**setting, **columns}) for setting in self._distinct(rule.names)))

    def allowed_one_by_one(self, rules: Sequence[Rule], bound: Sequence[int]) -> list[bool]:
        """Which combinations of the parameters all rules allow, in their order."""
        names = [self.parameters[i].name for i in bound]
        asked = [(rule.holds, dict(setting)) for rule in rules for setting in self._distinct(rule.names)]
        found = []
        for values in product(*(self.parameters[i].values for i in bound)):
            chosen = dict(zip(names, values, strict=True))
            found.append(all(holds({**setting, **chosen}) for holds, setting in asked))
        return found

    def alike(self, rules: Sequence[Rule], bound: Sequence[int], rows: Array) -> tuple[Array, int]:
        """Codes for the rows, and their span: rows of equal code are equal for the rules, whatever follows."""
        columns = self._columns(bound, rows)
        kinds: list[tuple[Array, int]] = []
        for rule in rules:
            open_names = (rule.names & self._places.keys()) - columns.keys()
            for expression in rule.expressions:
                for node in carried(expression.tree, open_names, self._bits):
                    kinds += self._codes(expression, node, columns)
        return combined(kinds, len(rows))

    def _codes(self, expression: Expression, node: Node, columns: Mapping[str, Array]) -> list[tuple[Array, int]]:
        """Of the node's value on each workload or, where it has none for some row, of what it is made from."""
        names = names_in(node)
        if not names & columns.keys():
            return []
        if isinstance(node, Name):
            return [value_codes(columns[node.name])]
        part = expression.part(node)
        used = {name: columns[name] for name in names & columns.keys()}
        try:
            return [value_codes(part.evaluate_many({**setting, **used})) for setting in self._distinct(names)]
        except InputError:
            return [codes for child in children(node) for codes in self._codes(expression, child, columns)]

    def _columns(self, bound: Sequence[int], rows: Array) -> dict[str, Array]:
        return {self.parameters[i].name: self._values(i)[rows[:, at]] for at, i in enumerate(bound)}

    def _distinct(self, names: frozenset[str]) -> list[Mapping[str, Value]]:
        """The settings that differ in these names."""
        if len(self.settings) == 1:
            return list(self.settings.values())
        seen = {tuple((n, s[n]) for n in names if n in s): s for s in self.settings.values()}
        return list(seen.values())


def crossed(rows: Array, sizes: Sequence[int]) -> Array:
    """Each row continued by every combination of positions in lists of these lengths."""
    count = prod(sizes)
    result: Array = np.empty((len(rows) * count, rows.shape[1] + len(sizes)), dtype=np.int32, order="F")
    for at in range(rows.shape[1]):
        result[:, at] = np.repeat(rows[:, at], count)
    every, alike = len(rows), count
    for at, size in enumerate(sizes, start=rows.shape[1]):
        alike //= size
        result[:, at] = np.tile(np.repeat(np.arange(size, dtype=np.int32), alike), every)
        every *= size
    return result
