"""Cost limits of language models in a run; reaching one ends the model's part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.core.errors import InputError
from warpsmith.record.result import ModelCost
from warpsmith.record.transcript import Message


@dataclass(frozen=True, slots=True)
class Allowance:
    """None is without limit. `usd` binds only where the model's price is known; `tokens` always does."""

    usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.usd is not None and self.usd <= 0:
            raise InputError(f"--max-usd must be positive, not {self.usd:g}", hint="--agent rules costs nothing")
        if self.tokens is not None and self.tokens < 1:
            raise InputError(f"--max-tokens must be at least 1, not {self.tokens}", hint="--agent rules needs no tokens")


class Ledger:
    """The amount spent so far, including earlier parts of a resumed run."""

    def __init__(self, allowance: Allowance, before: Iterable[Message] = ()) -> None:
        self.allowance = allowance
        self.usd = 0.0
        self.tokens = 0
        self.unpriced = False  # some of it has no known price: `usd` is then too low
        for message in before:
            self.charge(message)

    def charge(self, message: Message) -> None:
        tokens = message.input_tokens + message.output_tokens
        self.tokens += tokens
        self.usd += message.usd or 0.0
        self.unpriced = self.unpriced or (tokens > 0 and message.usd is None)

    @property
    def spent(self) -> ModelCost | None:
        """Of a result: what models took; None when none was asked."""
        if not self.tokens:
            return None
        return ModelCost(tokens=self.tokens, usd=round(self.usd, 6), unpriced=self.unpriced)

    @property
    def exhausted(self) -> str | None:
        """Which limit is reached, with the two numbers; None while there is something left."""
        most = self.allowance
        if most.tokens is not None and self.tokens >= most.tokens:
            return f"{self.tokens:,} of {most.tokens:,} tokens are spent"
        if most.usd is not None and self.usd >= most.usd:
            return f"${self.usd:.4f} of ${most.usd:.4f} are spent"
        return None
