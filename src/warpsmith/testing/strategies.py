"""What every strategy must keep to, as tests. A plug-in subclasses it and says how it is made:

class TestMine(StrategyConformance):
    def make(self, space, rng):
        return Mine(space, rng)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Crashed, Evaluation, Measured, Outcome, TimedOut, Verdict
from warpsmith.search.base import Strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

_PASSED = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))


def measured(score: float) -> Measured:
    """An outcome with nothing in it but its score."""
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
    limits = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
    return Space.build(parameters, constraints, launch, (Workload("w", {"n": 4096}),), limits)


def empty_space() -> Space:
    """No parameters: one configuration, without values."""
    launch = Launch((Expression.parse(1),), (Expression.parse(32),), Expression.parse(0))
    return Space.build((), (), launch, (Workload("w", {}),), Limits(1024, 1024, 1024, 64, 49152, 32, 4))


def _valley(configuration: Configuration) -> Outcome:
    return measured(1.0 + abs(np.log2(float(configuration["BLOCK"])) - 6) + abs(np.log2(float(configuration["VEC"])) - 2))


def _half_fail(configuration: Configuration) -> Outcome:
    return CompileFailed("too wide") if int(configuration["VEC"]) > 2 else _valley(configuration)


def _all_fail(configuration: Configuration) -> Outcome:
    return Crashed("signal 11") if int(configuration["VEC"]) % 2 else TimedOut("too slow", 1.0)


class StrategyConformance:
    """Subclass it; `make` is the only thing to give."""

    def make(self, space: Space, rng: np.random.Generator) -> Strategy:
        raise NotImplementedError

    def run(
        self, space: Space, outcome: Callable[[Configuration], Outcome], *, batch: int = 1, seed: int = 0
    ) -> list[Configuration]:
        """Everything the strategy asks for until it has no more, told in the order asked."""
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

    def test_a_space_without_parameters(self) -> None:
        space = empty_space()
        self.check(space, self.run(space, lambda _: measured(1.0)))

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

    def test_nothing_is_told(self) -> None:
        """Asking alone must end too: a run may be stopped with everything outstanding."""
        space = small_space()
        strategy = self.make(space, np.random.default_rng(2))
        self.check(space, [*strategy.ask(10), *strategy.ask(1000)])
        assert strategy.ask(1) == []

    def test_what_was_told_unasked_is_not_asked_for(self) -> None:
        """A resumed run tells what is recorded before it asks."""
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
