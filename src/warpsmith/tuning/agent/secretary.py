"""Keeps an agent's desk: what is said is recorded, charged to the run's allowance, and shown; time and money left are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpsmith.record.store import Store
from warpsmith.record.transcript import Message
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.planning import Desk
from warpsmith.tuning.events import Emit, MessageNoted
from warpsmith.tuning.order import Order


class Secretary:
    """The agent is made before its run has a name, so that a wrong name of one leaves no run behind; hence `begin`."""

    def __init__(self, store: Store, order: Order, emit: Emit) -> None:
        self._store = store
        self._order = order
        self._emit = emit
        self._run: str | None = None
        self._elapsed_s: Callable[[], float] = lambda: 0.0
        self.ledger = Ledger(order.allowance)
        self._before: list[Message] = []
        self.desk = Desk(order.seed, self.ledger, self._note, self._seconds_left, lambda: self._before)

    def begin(self, run: str, elapsed_s: Callable[[], float]) -> None:
        self._run = run
        self._elapsed_s = elapsed_s
        self._before = list(self._store.messages(run))  # of the parts before a resume
        for message in self._before:
            self.ledger.charge(message)

    @property
    def spent(self) -> dict[str, Any] | None:
        """Of the run's result: what models took; None when none was asked."""
        ledger = self.ledger
        if not ledger.tokens:
            return None
        return {"tokens": ledger.tokens, "usd": round(ledger.usd, 6), "unpriced": ledger.unpriced}

    def _note(self, message: Message) -> None:
        assert self._run is not None, "nobody speaks before the run begins"
        self._store.say(self._run, message)
        self.ledger.charge(message)
        self._emit(MessageNoted(message, self.ledger.tokens, self.ledger.usd, self.ledger.unpriced))

    def _seconds_left(self) -> float | None:
        limit = self._order.budget.seconds
        return None if limit is None else max(0.0, limit - self._elapsed_s())


def desk_without_record(allowance: Allowance, emit: Emit, seed: int = 0) -> Desk:
    """For an agent that works outside a run: what is said is charged and shown."""
    ledger = Ledger(allowance)

    def note(message: Message) -> None:
        ledger.charge(message)
        emit(MessageNoted(message, ledger.tokens, ledger.usd, ledger.unpriced))

    return Desk(seed, ledger, note, lambda: None)
