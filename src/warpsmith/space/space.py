"""`Space`: the feasible configurations, to count, index, sample, walk and explain. How they are found is `space.construction`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import Protocol

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space.construction import construct
from warpsmith.space.listing import Listing
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.quantities import Quantity, quantities
from warpsmith.space.removal import Removal, removal_of
from warpsmith.space.rules import NO_LIMITS, ConstraintRule, Rule, Violation, rules_of
from warpsmith.space.tables import Table
from warpsmith.space.threads import threads_along_x, threads_by_launch, threads_by_listing
from warpsmith.space.unlikely import unlikely_of
from warpsmith.space.waste import waste_of
from warpsmith.spec.kernel import Constraint, Kernel, Launch, Parameter, Workload
from warpsmith.template import Template

LIST_LIMIT = 50_000_000
_BLOCK = 4096
_NEAREST_AMONG = 200_000


class Members(Protocol):
    """A numbered set of rows."""

    @property
    def size(self) -> int: ...

    def row(self, number: int) -> Array: ...

    def rows(self, numbers: Array) -> Array: ...

    def number(self, row: Array) -> int: ...

    def numbers(self, rows: Array) -> Array: ...

    def occurring(self) -> list[Array]: ...

    def listed(self) -> Array: ...


class Space:
    """Immutable. Configurations are numbered from 0 in the order of their parameters' values.

    Parameters that constraints tie together count as if they had been declared one after another.
    """

    def __init__(
        self,
        problem: SpaceProblem,
        members: Members,
        default: Configuration,
        waste: Callable[[], Table | None] | None = None,
        unlikely: Callable[[], tuple[Table, ...]] = tuple,
    ) -> None:
        """`waste` and `unlikely` are computed when they are asked for; without a launch there is no waste to tell of."""
        self._problem = problem
        self._waste = waste
        self._unlikely = unlikely
        self._members = members
        self.parameters = problem.parameters
        self.default = default
        self.cartesian_size = prod(problem.sizes)

    @classmethod
    def build(
        cls,
        parameters: tuple[Parameter, ...],
        constraints: tuple[Constraint, ...],
        launch: Launch,
        workloads: tuple[Workload, ...],
        limits: Limits,
        also: Mapping[str, Limits] = NO_LIMITS,
        likely: tuple[Constraint, ...] = (),
    ) -> Space:
        """What is allowed on *all* workloads, held out or not: the shipped configuration must run on every declared shape.

        `also` has the limits of further targets, by name, on which it must be allowed as well. `likely` forbids nothing.
        Raises InputError, with the reasons, when the default configuration is not among them.
        """
        settings = {w.name: {**limits.names(), **w.sizes} for w in workloads}
        for target, others in also.items():
            settings |= {f"{w.name} on {target}": {**others.names(), **w.sizes} for w in workloads}
        problem = SpaceProblem(parameters, rules_of(constraints, launch, limits, also), settings)
        default = Configuration(tuple((p.name, p.default) for p in parameters))
        waste = partial(waste_of, parameters, launch, workloads, limits)
        space = cls(problem, construct(problem), default, waste, partial(unlikely_of, parameters, likely, workloads, limits))
        if space.default not in space:
            reasons = "\n".join(f"  {violation}" for violation in space.explain(space.default))
            where = "on this device and on every --also-compile target" if also else "on this device"
            hint = f"the default is the original kernel and must be feasible on every workload, {where}"
            raise InputError(f"the default configuration ({space.default}) is not allowed:\n{reasons}", hint=hint)
        return space

    @classmethod
    def listed(cls, parameters: tuple[Parameter, ...], rows: Array, default: Configuration) -> Space:
        """A space whose configurations are given: `rows` of positions in the parameters' value lists, in any order.

        For recorded measurements, whose constraints are not known. Raises InputError when the default is not among them.
        """
        problem = SpaceProblem(parameters, (), {})
        space = cls(problem, Listing(problem.sizes, rows), default)
        if space.default not in space:
            raise InputError(f"the default configuration ({default}) is not among the {len(space)} listed ones")
        return space

    @classmethod
    def of_values(
        cls, parameters: tuple[Parameter, ...], constraints: tuple[Constraint, ...], default: Configuration | None
    ) -> Space:
        """A space without a kernel. Its first configuration is the default unless there is one.

        Raises InputError where nothing is allowed, or not the default.
        """
        problem = SpaceProblem(parameters, tuple(map(ConstraintRule, constraints)), {"": {}})
        members = construct(problem)
        if not members.size:
            raise InputError("the constraints allow no configuration")
        space = cls(problem, members, default or Configuration(()))
        if default is None:
            space.default = space[0]
        elif default not in space:
            reasons = "; ".join(map(str, space.explain(default)))
            raise InputError(f"the default configuration ({default}) is not allowed: {reasons}")
        return space

    def where(self, name: str, value: Value) -> Space | None:
        """The configurations with that value of a parameter; None when there is none.

        Their default is the one that differs least from this space's.
        """
        rule = ConstraintRule(Constraint(Expression.parse(f"{name} == {value}"), f"only {name}={value}"))
        problem = SpaceProblem(self.parameters, (*self._problem.rules, rule), self._problem.settings or {"": {}})
        members = construct(problem)
        if not members.size:
            return None
        found = Space(problem, members, Configuration.of({**self.default, name: value}), self._waste, self._unlikely)
        if found.default not in found:
            rows = found.encoded(sorted(found.sample(_NEAREST_AMONG, np.random.default_rng(0))))
            found.default = found.decode(rows[np.count_nonzero(rows != self.encode(self.default), axis=1).argmin()])
        return found

    # ── a sequence of configurations ──

    @property
    def size(self) -> int:
        """How many configurations there are; unlike `len`, without an upper bound."""
        return self._members.size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Configuration:
        return self.decode(self.row(index))

    def __iter__(self) -> Iterator[Configuration]:
        for begin in range(0, self.size, _BLOCK):
            numbers = range(begin, min(begin + _BLOCK, self.size))
            yield from (self.decode(row) for row in self._members.rows(np.array(numbers)))

    @cached_property
    def rows(self) -> Array:
        """Every configuration, encoded, in the order of their numbers (read-only). Raises InputError when they are too many."""
        if self.size > LIST_LIMIT:
            message = f"the space has {self.size:,} configurations; at most {LIST_LIMIT:,} are listed"
            raise InputError(message, hint="sample() and iteration work for a space of any size")
        table = self._members.listed()
        table.flags.writeable = False
        return table

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, Configuration) and self.index(configuration) is not None

    def index(self, configuration: Configuration) -> int | None:
        """The configuration's number; None when it is not feasible."""
        try:
            row = self.encode(configuration)
        except InputError:
            return None
        number = self._members.number(row)
        return number if number >= 0 else None

    def indices(self, rows: Array) -> Array:
        """The number of each encoded configuration, -1 for those that are not feasible."""
        return self._members.numbers(rows)

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """The numbers of up to `n` distinct configurations, uniformly."""
        if self.size < 2**63:
            if n == 1 and self.size:  # without the machinery that keeps several apart
                return [int(rng.integers(self.size))]
            return [int(number) for number in rng.choice(self.size, size=min(n, self.size), replace=False)]
        # More than a generator's integers can number: so many that a repetition is drawn again at once.
        chosen: dict[int, None] = {}
        width = (self.size - 1).bit_length()
        while len(chosen) < n:
            number = int.from_bytes(rng.bytes((width + 7) // 8), "little") % (1 << width)
            if number < self.size:
                chosen.setdefault(number)
        return list(chosen)

    def occurring_values(self) -> dict[str, tuple[Value, ...]]:
        """For each parameter the values that some configuration has."""
        occurring = zip(self.parameters, self._members.occurring(), strict=True)
        return {p.name: tuple(p.values[int(at)] for at in positions) for p, positions in occurring}

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
        sizes = self._problem.sizes
        ends = np.cumsum(sizes)
        changed = np.repeat(np.asarray(row)[None, :], sum(sizes), axis=0)
        for parameter, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            changed[end - size : end, parameter] = np.arange(size)
        numbers = self.indices(changed).tolist() if sizes else []
        for end, size, position in zip(ends.tolist(), sizes, np.asarray(row).tolist(), strict=True):
            below = [n for n in numbers[end - size : end - size + position] if n >= 0]
            above = [n for n in numbers[end - size + position + 1 : end] if n >= 0]
            near += below[-1:] + above[:1]
            wide += below[:-1] + above[1:]
        return near, wide

    # ── vectors ──

    def encode(self, configuration: Configuration) -> Array:
        """The position of each value in its parameter's list. Raises InputError for values that are not there."""
        chosen = dict(configuration.pairs)
        try:
            row = [parameter.values.index(chosen.pop(parameter.name)) for parameter in self.parameters]
        except (KeyError, ValueError):
            row = []
        if chosen or len(row) < len(self.parameters):
            raise InputError("; ".join(violation.detail for violation in self._strangers(configuration)))
        return np.array(row, dtype=np.int32)

    def decode(self, row: Array) -> Configuration:
        return Configuration(tuple((p.name, p.values[int(at)]) for p, at in zip(self.parameters, row, strict=True)))

    def row(self, index: int) -> Array:
        """The configuration of that number, encoded."""
        number = index + self.size if index < 0 else index
        if not 0 <= number < self.size:
            raise IndexError(f"configuration {index} of a space of {self.size}")
        return self._members.row(number)

    def encoded(self, numbers: Sequence[int]) -> Array:
        """The configurations of those numbers, one row each."""
        return self._members.rows(np.array(numbers, dtype=np.int64 if self.size < 2**63 else object))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Products and quotients of parameters that the rules speak of."""
        return quantities(self._problem.rules, {parameter.name for parameter in self.parameters})

    @cached_property
    def threads(self) -> Table | None:
        """How many threads a block has; None where that cannot be told, or the device is no GPU."""
        return threads_by_launch(self._problem) if self._problem.rules else threads_by_listing(self.parameters, self.rows)

    @cached_property
    def neighbouring_threads(self) -> Table | None:
        """How many threads of a block follow each other along x; None where that cannot be told."""
        return threads_along_x(self._problem)

    @cached_property
    def waste(self) -> Table | None:
        """Wasted work of a launch, in doublings of the necessary work; None if unknown."""
        return None if self._waste is None else self._waste()

    @cached_property
    def unlikely(self) -> tuple[Table, ...]:
        """For each expectation of the author, 1 where it is not met."""
        return self._unlikely()

    # ── why ──

    def explain(self, configuration: Configuration) -> list[Violation]:
        """Every rule that the configuration breaks, on the first workload where it does; empty when it is feasible."""
        strangers = self._strangers(configuration)
        if strangers:
            return strangers
        found = (self._violation(rule, configuration) for rule in self._problem.rules)
        violations = [violation for violation in found if violation is not None]
        if not violations and configuration not in self:
            return [Violation("listed", "", None, f"{configuration} is not among the {self.size} listed configurations")]
        return violations

    def allows(self, names: Mapping[str, Value]) -> bool:
        """Whether every rule holds for these values of parameters, limits and sizes, which may be of no declared workload."""
        return all(rule.objection(names) is None for rule in self._problem.rules)

    def _violation(self, rule: Rule, configuration: Configuration) -> Violation | None:
        for place, (workload, setting) in enumerate(self._problem.settings.items()):
            detail = rule.objection({**setting, **configuration})
            if detail is not None:
                depends = place > 0 or bool(rule.names & (setting.keys() - Limits.known_names()))
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
        removals = [(rule, removal_of(self._problem, rule)) for rule in self._problem.rules]
        return tuple(removal for rule, removal in removals if removal.count or isinstance(rule, ConstraintRule))


def space_of(kernel: Kernel, template: Template, limits: Limits, also: Mapping[str, Limits] = NO_LIMITS) -> Space:
    rules, launch = template.constraints, template.launch
    return Space.build(template.parameters, rules, launch, kernel.workloads, limits, also, template.likely)
