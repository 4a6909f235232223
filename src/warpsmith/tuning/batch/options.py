"""The options of a batch, as recorded, and the `Order` of each of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.agents import RULES, default_agent
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.cluster.machines import parse_cluster
from warpsmith.tuning.evaluation.alike import parse_devices
from warpsmith.tuning.order import DEFAULT_ROUNDS, Mode, Order, parse_mode


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`evaluations` and `seconds` are of all searches together; `max_usd` and `max_tokens`, too, in equal parts."""

    evaluations: int | None
    seconds: float | None = None
    device: str = "cpu"
    agent: str | None = None  # None: each kernel's own default
    strategy: str = DEFAULT_STRATEGY
    seed: int = 0
    rounds: int = DEFAULT_ROUNDS
    mode: str = Mode.TEMPLATE
    max_usd: float | None = None
    max_tokens: int | None = None
    also_compile: tuple[str, ...] = ()
    workers: int | str | None = None
    proved_only: bool = False
    knowledge: bool = True

    def order(self, kernel: Kernel, budget: Budget, *, batch: str, of: int) -> Order:
        """Of one of so many kernels."""
        mode = parse_mode(self.mode)
        first, more = parse_devices(self.device)
        usd = None if self.max_usd is None else self.max_usd / of
        tokens = None if self.max_tokens is None else max(1, self.max_tokens // of)
        return Order(
            kernel,
            device=first,
            strategy=self.strategy,
            budget=budget,
            seed=self.seed,
            agent=self.agent or (RULES if mode is Mode.DIRECT else default_agent(kernel)),
            rounds=self.rounds,
            mode=mode,
            allowance=Allowance(usd, tokens),
            also_compile=self.also_compile,
            workers=self.workers if isinstance(self.workers, int) else None,
            cluster=parse_cluster(self.workers) if isinstance(self.workers, str) else None,
            more_devices=more,
            proved_only=self.proved_only,
            knowledge=self.knowledge,
            batch=batch,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> BatchOptions:
        """As a record has them; one of an earlier version lacks what came later."""
        known = {field.name: recorded[field.name] for field in fields(cls) if field.name in recorded}
        return cls(**{**known, "also_compile": tuple(known.get("also_compile", ()))})
