"""Implements an agent's desk: records, charges and shows messages; reports remaining time and money."""

from __future__ import annotations

from collections.abc import Callable

from warpsmith.record.store import Store
from warpsmith.record.transcript import Message
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.agent.planning import Desk
from warpsmith.tuning.events import Emit, MessageNoted
from warpsmith.tuning.order import Order


def desk_of_run(run: str, store: Store, order: Order, emit: Emit, elapsed_s: Callable[[], float]) -> Desk:
    """The run need not be on record yet: nobody speaks before it begins."""
    before = store.messages(run)  # of the parts before a resume
    ledger = Ledger(order.allowance, before)

    def note(message: Message) -> None:
        store.say(run, message)
        ledger.charge(message)
        emit(MessageNoted(message, ledger.tokens, ledger.usd, ledger.unpriced))

    def seconds_left() -> float | None:
        limit = order.budget.seconds
        return None if limit is None else max(0.0, limit - elapsed_s())

    return Desk(order.seed, ledger, note, seconds_left, lambda: before)


def desk_without_record(allowance: Allowance, emit: Emit, seed: int = 0) -> Desk:
    """For an agent that works outside a run: what is said is charged and shown."""
    ledger = Ledger(allowance)

    def note(message: Message) -> None:
        ledger.charge(message)
        emit(MessageNoted(message, ledger.tokens, ledger.usd, ledger.unpriced))

    return Desk(seed, ledger, note, lambda: None)
