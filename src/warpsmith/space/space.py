"""`Space`: the feasible configurations, to count, index, sample, walk and explain. How they are found is `space.construction`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.space.construction import Problem, construct
from warpsmith.space.rules import ConstraintRule, Rule, Violation, rules_of
from warpsmith.spec.kernel import Constraint, Kernel, Launch, Parameter, Workload
from warpsmith.template import Template

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Removal:
    """How many configurations of the whole product one rule forbids by itself; `estimate` when they were sampled, not counted."""

    constraint: str
    reason: str
    count: int
    estimate: bool


class Space:
    """Immutable. Configurations are numbered from 0 in the order of their parameters' values."""

    def __init__(self, problem: Problem, default: Configuration) -> None:
        self._problem = problem
        self._rows = construct(problem)
        self.parameters = problem.parameters
        self.default = default
        self.cartesian_size = prod(len(p.values) for p in problem.parameters)

    @classmethod
    def build(
        cls,
        parameters: tuple[Parameter, ...],
        constraints: tuple[Constraint, ...],
        launch: Launch,
        workloads: tuple[Workload, ...],
        limits: Limits,
    ) -> Space:
        """What is allowed on *all* workloads, held out or not: the shipped configuration must run on every declared shape.

        Raises InputError, with the reasons, when the default configuration is not among them.
        """
        settings = {w.name: {**limits.names(), **w.sizes} for w in workloads}
        problem = Problem(parameters, rules_of(constraints, launch, limits), settings)
        space = cls(problem, Configuration(tuple((p.name, p.default) for p in parameters)))
        if space.default not in space:
            reasons = "\n".join(f"  {violation}" for violation in space.explain(space.default))
            hint = "the default is the original kernel: it must run on every workload, on this device"
            raise InputError(f"the default configuration ({space.default}) is not allowed:\n{reasons}", hint=hint)
        return space

    # ── a sequence of configurations ──

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Configuration:
        return self.decode(self._rows[index])

    def __iter__(self) -> Iterator[Configuration]:
        return (self.decode(row) for row in self._rows)

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, Configuration) and self.index(configuration) is not None

    def index(self, configuration: Configuration) -> int | None:
        """The configuration's number; None when it is not feasible."""
        try:
            row = self.encode(configuration)
        except InputError:
            return None
        number = int(self._numbers(row[None, :])[0])
        return number if number >= 0 else None

    def sample(self, rng: np.random.Generator, n: int) -> list[Configuration]:
        """Up to `n` distinct configurations, uniformly."""
        chosen = rng.choice(len(self), size=min(n, len(self)), replace=False)
        return [self[int(index)] for index in chosen]

    # ── neighbourhoods ──

    def adjacent(self, configuration: Configuration) -> list[Configuration]:
        """For each parameter, the nearest feasible value on either side with all others as they are."""
        return [self[index] for index in self.neighbour_numbers(self.encode(configuration))[0]]

    def neighbours(self, configuration: Configuration) -> list[Configuration]:
        """Every feasible change of one parameter: the adjacent ones first."""
        near, wide = self.neighbour_numbers(self.encode(configuration))
        return [self[index] for index in (*near, *wide)]

    def neighbour_numbers(self, row: Array) -> tuple[list[int], list[int]]:
        """The numbers of an encoded configuration's neighbours: (adjacent, all others)."""
        near: list[int] = []
        wide: list[int] = []
        for parameter, position in enumerate(row):
            changed = np.repeat(row[None, :], len(self.parameters[parameter].values), axis=0)
            changed[:, parameter] = np.arange(len(changed))
            numbers = self._numbers(changed)
            below = [int(n) for n in numbers[:position] if n >= 0]
            above = [int(n) for n in numbers[position + 1 :] if n >= 0]
            near += below[-1:] + above[:1]
            wide += below[:-1] + above[1:]
        return near, wide

    # ── vectors ──

    def encode(self, configuration: Configuration) -> Array:
        """The position of each value in its parameter's list. Raises InputError for values that are not there."""
        row = np.empty(len(self.parameters), dtype=np.int32)
        problems = self._strangers(configuration)
        if problems:
            raise InputError("; ".join(violation.detail for violation in problems))
        for i, parameter in enumerate(self.parameters):
            row[i] = parameter.values.index(configuration[parameter.name])
        return row

    def decode(self, row: Array) -> Configuration:
        return Configuration(tuple((p.name, p.values[int(at)]) for p, at in zip(self.parameters, row, strict=True)))

    def row(self, index: int) -> Array:
        """The configuration of that number, encoded."""
        found: Array = self._rows[index].copy()
        return found

    @cached_property
    def _keys(self) -> tuple[Array, Array]:
        """The rows' places in the whole product, ascending, and the weight of each column in them."""
        sizes = [len(p.values) for p in self.parameters]
        # Beyond 64 bits Python's integers do, slower.
        kind = np.int64 if self.cartesian_size < 2**63 else object
        weights = np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=kind)
        return self._rows.astype(kind) @ weights if sizes else np.zeros(len(self._rows), dtype=np.int64), weights

    def _numbers(self, rows: Array) -> Array:
        """The number of each encoded configuration, -1 for those that are not feasible."""
        keys, weights = self._keys
        wanted = rows.astype(weights.dtype) @ weights if len(weights) else np.zeros(len(rows), dtype=np.int64)
        places = np.searchsorted(keys, wanted)
        found: Array = (
            np.where(keys[np.minimum(places, len(keys) - 1)] == wanted, places, -1) if len(keys) else np.full(len(rows), -1)
        )
        return found

    # ── why ──

    def explain(self, configuration: Configuration) -> list[Violation]:
        """Every rule that the configuration breaks, on the first workload where it does; empty when it is feasible."""
        strangers = self._strangers(configuration)
        if strangers:
            return strangers
        found = (self._violation(rule, configuration) for rule in self._problem.rules)
        return [violation for violation in found if violation is not None]

    def _violation(self, rule: Rule, configuration: Configuration) -> Violation | None:
        for workload, setting in self._problem.settings.items():
            detail = rule.objection({**setting, **configuration})
            if detail is not None:
                depends = bool(rule.names & (setting.keys() - Limits.known_names()))
                return Violation(rule.text, rule.reason, workload if depends else None, detail)
        return None

    def _strangers(self, configuration: Configuration) -> list[Violation]:
        known = {p.name: p for p in self.parameters}
        found = [Violation("parameters", "", None, f"{n} is not a parameter") for n in configuration if n not in known]
        for name, parameter in known.items():
            if name not in configuration:
                found.append(Violation("parameters", "", None, f"{name} has no value"))
            elif configuration[name] not in parameter.values:
                listed = ", ".join(map(str, parameter.values))
                found.append(Violation(f"{name} in ({listed})", "", None, f"{name}={configuration[name]}"))
        return found

    @cached_property
    def removed(self) -> tuple[Removal, ...]:
        """What each rule alone removes from the whole product, for the rules that remove anything or come from kernel.toml."""
        removals = [(rule, self._removal(rule)) for rule in self._problem.rules]
        return tuple(removal for rule, removal in removals if removal.count or isinstance(rule, ConstraintRule))

    def _removal(self, rule: Rule) -> Removal:
        table = self._problem.table(rule)
        if table is not None:
            # The rule says the same for every value of the parameters it does not use.
            count = int(np.count_nonzero(~table)) * (self.cartesian_size // max(table.size, 1))
            return Removal(rule.text, rule.reason, count, estimate=False)
        rng = np.random.default_rng(0)
        own = self._problem.parameters_of(rule)
        columns = [rng.integers(len(self.parameters[i].values), size=_SAMPLES) for i in own]
        share = np.count_nonzero(~self._problem.allowed(rule, own, columns, _SAMPLES)) / _SAMPLES
        return Removal(rule.text, rule.reason, round(share * self.cartesian_size), estimate=True)


def space_of(kernel: Kernel, template: Template, limits: Limits) -> Space:
    return Space.build(template.parameters, template.constraints, template.launch, kernel.workloads, limits)
