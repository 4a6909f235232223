"""The plan of a comparison and its name: repeating the same request continues a stopped comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from warpsmith.core.errors import InputError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.record.run import NO_AGENT
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.settings import Settings
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.agents import RULES
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.order import DEFAULT_ROUNDS, Mode, Order, kernel_fingerprint

DEFAULT_EVALUATIONS = 40
DEFAULT_SEEDS = 10
RESULT_FILE = "compare.json"


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Both modes get the same kernel, agent, budget and seeds."""

    kernel: Kernel
    device: str = "cpu"
    agent: str = RULES
    strategy: str = DEFAULT_STRATEGY
    budget: Budget = Budget(DEFAULT_EVALUATIONS)  # noqa: RUF009 - frozen
    seeds: int = DEFAULT_SEEDS
    rounds: int = DEFAULT_ROUNDS
    allowance: Allowance = Allowance()  # noqa: RUF009 - frozen; of each run

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(
                f"a comparison needs at least 1 seed, not {self.seeds}", hint="a spread needs several runs: --seeds 10"
            )
        if self.agent == NO_AGENT:
            raise InputError("a comparison needs an agent that rewrites the kernel", hint="--agent rules, or PROVIDER:MODEL")

    def name(self, settings: Settings) -> str:
        """Of the first comparison like this one that has no result yet."""
        like = fingerprint(
            metadata.version("warpsmith"),
            str(self.kernel.path),
            kernel_fingerprint(self.kernel),
            self.device,
            self.agent,
            self.strategy,
            self.budget.evaluations,
            self.budget.seconds,
            self.seeds,
            self.rounds,
            self.allowance.usd,
            self.allowance.tokens,
        )
        number = 1
        while (settings.comparison_folder(name := f"{self.kernel.name}-{like[:8]}-{number}") / RESULT_FILE).is_file():
            number += 1
        return name

    def orders(self, name: str) -> Iterator[Order]:
        """Interleaved, and each mode first on every other seed: what the machine does meanwhile meets both alike."""
        for seed in range(self.seeds):
            for mode in (Mode.TEMPLATE, Mode.DIRECT) if seed % 2 == 0 else (Mode.DIRECT, Mode.TEMPLATE):
                yield Order(
                    kernel=self.kernel,
                    device=self.device,
                    strategy=self.strategy,
                    budget=self.budget,
                    seed=seed,
                    agent=self.agent,
                    rounds=self.rounds,
                    mode=mode,
                    allowance=self.allowance,
                    comparison=name,
                )
