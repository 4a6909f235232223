"""Conformance tests of search strategies. A plug-in subclasses the suite and creates its strategy:

class TestMine(StrategyConformance):
    def make(self, space, rng):
        return Mine(space, rng)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Crashed, Evaluation, Measured, Outcome, TimedOut, Verdict
from warpsmith.search.base import Strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

_LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
_LARGE = 12  # parameters of ten values each
_PASSED = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))


def measured(score: float) -> Measured:
    """An outcome with only its score."""
    return Measured(_PASSED, (), score)


def small_space(*, constrained: bool = True) -> Space:
    """Three parameters, 60 combinations, 46 of them feasible; text and numbers."""
    parameters = (
        Parameter("BLOCK", (32, 64, 128, 256, 512), 128),
        Parameter("VEC", (1, 2, 4, 8), 1),
        Parameter("LAYOUT", ("row", "column", "tiled"), "row"),
    )
    rules = ("BLOCK * VEC <= 1024", "LAYOUT != 'tiled' or VEC >= 2")
    constraints = tuple(Constraint(Expression.parse(text)) for text in rules) if constrained else ()
    launch = Launch((Expression.parse("ceildiv(n, BLOCK)"),), (Expression.parse("BLOCK"),), Expression.parse(0))
    return Space.build(parameters, constraints, launch, (Workload("w", {"n": 4096}),), _LIMITS)


def empty_space() -> Space:
    """No parameters: one configuration, without values."""
    return plain_space()


def plain_space(
    *parameters: Parameter, constraints: tuple[str, ...] = (), likely: tuple[str, ...] = (), kind: type[Space] = Space
) -> Space:
    """These parameters, and a launch that depends on none of them."""
    rules, expected = (tuple(Constraint(Expression.parse(text)) for text in texts) for texts in (constraints, likely))
    launch = Launch((Expression.parse(1),), (Expression.parse(32),), Expression.parse(0))
    return kind.build(parameters, rules, launch, (Workload("w", {}),), _LIMITS, likely=expected)


class Unlistable(Space):
    """A space that cannot be listed, as if it were too large."""

    @property
    def rows(self) -> Array:
        raise AssertionError("the strategy lists the whole space")

    def __iter__(self) -> Iterator[Configuration]:
        raise AssertionError("the strategy goes through the whole space")


def large_space() -> Space:
    """Far more configurations than can be tried, with one constraint over all parameters."""
    names = [f"P{i}" for i in range(_LARGE)]
    parameters = (Parameter(name, tuple(range(1, 11)), 2) for name in names)
    return plain_space(*parameters, constraints=(f"{' + '.join(names)} <= {5 * _LARGE}",), kind=Unlistable)


def tiny_spaces() -> dict[str, Space]:
    return {
        "no parameters": empty_space(),
        "one configuration": plain_space(Parameter("A", (4,), 4)),
        "one parameter": plain_space(Parameter("A", (1, 2, 4, 8), 4)),
        "one boolean": plain_space(Parameter("A", (False, True), False)),
        "text and booleans": plain_space(Parameter("A", ("x", "y", "z"), "y"), Parameter("B", (False, True), True)),
        "islands": plain_space(  # the default has no neighbours: any other configuration differs in both parameters
            Parameter("A", (1, 2, 3), 1), Parameter("B", (1, 2, 3), 1), constraints=("A == B",)
        ),
    }


def _valley(configuration: Configuration) -> Outcome:
    return measured(1.0 + abs(np.log2(float(configuration["BLOCK"])) - 6) + abs(np.log2(float(configuration["VEC"])) - 2))


def _half_fail(configuration: Configuration) -> Outcome:
    return CompileFailed("too wide") if int(configuration["VEC"]) > 2 else _valley(configuration)


def _all_fail(configuration: Configuration) -> Outcome:
    return Crashed("signal 11") if int(configuration["VEC"]) % 2 else TimedOut("too slow", 1.0)


class StrategyConformance:
    """Subclass it; only `make` must be given."""

    def make(self, space: Space, rng: np.random.Generator) -> Strategy:
        raise NotImplementedError

    def run(
        self, space: Space, outcome: Callable[[Configuration], Outcome], *, batch: int = 1, seed: int = 0
    ) -> list[Configuration]:
        """Everything the strategy proposes until it has no more, with results told in the order of the proposals."""
        strategy = self.make(space, np.random.default_rng(seed))
        asked: list[Configuration] = []
        for _ in range(10 * len(space) + 10):
            configurations = strategy.ask(batch)
            assert len(configurations) <= batch, f"asked for {batch}, got {len(configurations)}"
            if not configurations:
                return asked
            asked += configurations
            for configuration in configurations:
                strategy.tell(Evaluation(configuration, outcome(configuration)))
        raise AssertionError(f"{len(asked)} configurations asked for from a space of {len(space)}, and no end")

    def check(self, space: Space, asked: list[Configuration]) -> None:
        assert asked[0] == space.default, f"the first is {asked[0]}, not the default {space.default}"
        assert len(set(asked)) == len(asked), "a configuration was asked for twice"
        for configuration in asked:
            assert configuration in space, f"{configuration} is not feasible"
        assert len(asked) == len(space), f"stopped after {len(asked)} of {len(space)} configurations"

    def test_each_configuration_once_the_default_first(self) -> None:
        space = small_space()
        self.check(space, self.run(space, _valley))

    def test_batches(self) -> None:
        space = small_space()
        for batch in (2, 7, 1000):
            self.check(space, self.run(space, _valley, batch=batch))

    def test_failures_are_survived(self) -> None:
        space = small_space()
        for outcome in (_half_fail, _all_fail):
            self.check(space, self.run(space, outcome))
            self.check(space, self.run(space, outcome, batch=5))

    def test_equal_scores(self) -> None:
        space = small_space()
        for batch in (1, 4):
            self.check(space, self.run(space, lambda _: measured(1.0), batch=batch))

    def test_tiny_spaces(self) -> None:
        for name, space in tiny_spaces().items():
            for batch in (1, 2, 50):
                asked = self.run(space, lambda _: measured(1.0), batch=batch)
                assert len(asked) == len(space), f"{name}: asked for {len(asked)} of {len(space)}"
                self.check(space, asked)
                assert len(self.run(space, lambda _: Crashed("signal 11"), batch=batch)) == len(space), f"{name}: all fail"

    def test_a_space_too_large_to_list(self) -> None:
        space = large_space()
        for batch in (1, 7):
            strategy = self.make(space, np.random.default_rng(batch))
            asked: list[Configuration] = []
            while len(asked) < 70:
                new = strategy.ask(batch)
                assert len(new) == batch, "it gave up"
                asked += new
                for configuration in new:
                    strategy.tell(Evaluation(configuration, measured(1.0 + float(np.abs(space.encode(configuration) - 4).sum()))))
            assert asked[0] == space.default
            assert len(set(asked)) == len(asked), "a configuration was asked for twice"
            assert all(configuration in space for configuration in asked), "an infeasible configuration was asked for"

    def test_more_is_asked_for_than_is_left(self) -> None:
        space = small_space()
        strategy = self.make(space, np.random.default_rng(6))
        asked = strategy.ask(len(space) - 1)
        for configuration in asked:
            strategy.tell(Evaluation(configuration, _valley(configuration)))
        asked += (last := strategy.ask(5))
        assert len(last) == 1
        self.check(space, asked)
        assert strategy.ask(5) == []

    def test_the_same_seed_gives_the_same_run(self) -> None:
        space = small_space()
        for batch in (1, 3):
            assert self.run(space, _valley, batch=batch, seed=5) == self.run(space, _valley, batch=batch, seed=5)

    def test_results_may_come_late_and_in_any_order(self) -> None:
        """Four are always outstanding, and the newest is told first."""
        space = small_space()
        strategy = self.make(space, np.random.default_rng(1))
        asked: list[Configuration] = []
        outstanding: list[Configuration] = []
        while len(asked) <= len(space):
            new = strategy.ask(4 - len(outstanding))
            asked += new
            outstanding += new
            if not outstanding:
                break
            configuration = outstanding.pop()
            strategy.tell(Evaluation(configuration, _valley(configuration)))
        self.check(space, asked)

    def test_any_order_with_failures_is_repeatable(self) -> None:
        """Results of parallel workers arrive in any order; the same calls must give the same answers."""
        space = small_space()
        runs = [self._shuffled(space, seed=7) for _ in range(2)]
        self.check(space, runs[0])
        assert runs[0] == runs[1]

    def _shuffled(self, space: Space, *, seed: int) -> list[Configuration]:
        strategy, order = self.make(space, np.random.default_rng(seed)), np.random.default_rng(seed + 1)
        asked: list[Configuration] = []
        outstanding: list[Configuration] = []
        while len(asked) <= len(space):
            new = strategy.ask(int(order.integers(4)))
            asked += new
            outstanding += new
            if not outstanding and len(asked) == len(space):
                break
            for _ in range(int(order.integers(len(outstanding) + 1))):
                configuration = outstanding.pop(int(order.integers(len(outstanding))))
                strategy.tell(Evaluation(configuration, _half_fail(configuration)))
        return asked

    def test_nothing_is_told(self) -> None:
        """Asking without results must end too: a run may be stopped with everything outstanding."""
        space = small_space()
        strategy = self.make(space, np.random.default_rng(2))
        self.check(space, [*strategy.ask(10), *strategy.ask(1000)])
        assert strategy.ask(1) == []

    def test_what_was_told_unasked_is_not_asked_for(self) -> None:
        """A resumed run tells recorded results before it asks."""
        space = small_space()
        strategy = self.make(space, np.random.default_rng(3))
        known = [space[index] for index in range(0, len(space), 3)]
        for configuration in known:
            strategy.tell(Evaluation(configuration, _valley(configuration)))
        asked = strategy.ask(1000)
        assert not set(asked) & set(known), "asked for what it was told"
        assert len(asked) + len(known) == len(space)

    def test_asking_for_none(self) -> None:
        assert self.make(small_space(), np.random.default_rng(4)).ask(0) == []

    def test_a_configuration_of_another_space_is_ignored(self) -> None:
        """A record may contain configurations of an earlier template."""
        space = small_space()
        strategy = self.make(space, np.random.default_rng(8))
        strategy.tell(Evaluation(Configuration.of({"BLOCK": 7, "TILE": 3}), measured(0.1)))
        self.check(space, strategy.ask(1000))
