"""Cost control: prices by model name, and the remaining tokens of an answer.

`--max-usd` needs a price. A model without one gets a limit in tokens instead: `TOKENS_PER_USD` for every dollar, unless
`--max-tokens` says it already. Limits are checked before each request, and the longest answer is told to the server, so that a
run does not spend more than it may; for a server that does not count tokens they are estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from genai_prices import Usage, calc_price

from warpsmith.tuning.agent.allowance import Ledger
from warpsmith.tuning.agent.planning import AgentStopped

TOKENS_PER_USD = 100_000  # as if a token cost what the dearer models ask for a million of them: $10
CHARACTERS_PER_TOKEN = 3  # of source code; an estimate that is rather too high
LONGEST_ANSWER = 16_000  # tokens: a whole kernel and the thinking before it
SHORTEST_ANSWER = 500  # what can still be an answer


class Prices(Protocol):
    """Of one model."""

    @property
    def model(self) -> str: ...

    @property
    def known(self) -> bool: ...

    def usd(self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Price:
    """By the names under which pydantic-ai knows model and provider."""

    model: str
    provider: str

    def usd(self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None:
        """None where the model has no known price. What a provider had in its cache is part of the input, and cheaper."""
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=min(cache_read, input_tokens),
            cache_write_tokens=min(cache_write, input_tokens - min(cache_read, input_tokens)),
        )
        try:
            found = calc_price(usage, self.model, provider_id=self.provider)
        except (LookupError, ValueError):
            return None
        return float(found.total_price)

    @property
    def known(self) -> bool:
        return self.usd(1, 1) is not None


def estimated_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class Purse:
    """The ledger as one model sees it."""

    def __init__(self, ledger: Ledger, price: Prices) -> None:
        self._ledger = ledger
        self.price = price
        most = ledger.allowance
        self.instead_of_usd = round(most.usd * TOKENS_PER_USD) if most.usd and most.tokens is None and not price.known else None

    @property
    def rule(self) -> str | None:
        """What must be said once: a limit in dollars that cannot be kept as such."""
        usd = self._ledger.allowance.usd
        if usd is None or self.price.known:
            return None
        if self.instead_of_usd is None:
            return f"{self.price.model} has no known price: --max-usd {usd:g} cannot bind, --max-tokens does"
        return f"{self.price.model} has no known price: --max-usd {usd:g} allows {self.instead_of_usd:,} tokens instead"

    def longest_answer(self, question_tokens: int) -> int | None:
        """How many tokens the next answer may have; None: no limit was set. Raises AgentStopped when too little is left."""
        spent = self._ledger.exhausted
        if spent is not None:
            raise AgentStopped(spent)
        room = [room for room in (self._by_tokens(question_tokens), self._by_usd(question_tokens)) if room is not None]
        if not room:
            return None
        if min(room) < SHORTEST_ANSWER:
            raise AgentStopped(f"{self._left()}: too little for a question of about {question_tokens:,} tokens and its answer")
        return min(LONGEST_ANSWER, *room)

    def _by_tokens(self, question_tokens: int) -> int | None:
        most = self._ledger.allowance.tokens if self.instead_of_usd is None else self.instead_of_usd
        return None if most is None else most - self._ledger.tokens - question_tokens

    def _by_usd(self, question_tokens: int) -> int | None:
        most = self._ledger.allowance.usd
        question, each = self.price.usd(question_tokens, 0), self.price.usd(0, 1_000_000)
        if most is None or question is None or not each:
            return None
        return int((most - self._ledger.usd - question) / each * 1_000_000)

    def _left(self) -> str:
        most = self._ledger.allowance
        parts = []
        tokens = most.tokens if self.instead_of_usd is None else self.instead_of_usd
        if tokens is not None:
            parts.append(f"{max(0, tokens - self._ledger.tokens):,} of {tokens:,} tokens")
        if most.usd is not None and self.price.known:
            parts.append(f"${max(0.0, most.usd - self._ledger.usd):.4f} of ${most.usd:.4f}")
        return f"{' and '.join(parts)} are left"
