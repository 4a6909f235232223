"""A run as a lab book: the conversation with models by round, and its results. Read from the record only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from warpsmith.core.outcome import OUTCOME_KINDS, Evaluation
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.record.transcript import Kind, Message


def lab_book(record: RunRecord, store: Store) -> dict[str, Any]:
    """The object under `transcript` in `show RUN --transcript --json`: every message in full, and the rounds beside them."""
    messages = store.messages(record.run)
    numbers = {message.round for message in messages} | {about.number for about in store.rounds(record.run)}
    best = 1.0
    rounds = []
    for number in sorted(numbers):
        searched = store.evaluations(record.run, number) if number else []
        best = min([best, *(e.score for e in searched if e.score is not None)])
        rounds.append({"round": number, "evaluations": _counts(searched), "speedup": round(1 / best, 4) if number else None})
    return {
        "agent": record.header.agent,
        "cost": _cost(messages),
        "rounds": rounds,
        "messages": [asdict(message) for message in messages],
    }


def _counts(evaluations: Sequence[Evaluation]) -> dict[str, int]:
    found = Counter(type(evaluation.outcome).__name__ for evaluation in evaluations)
    return {kind: found[kind] for kind in OUTCOME_KINDS if found[kind]}


def _cost(messages: Sequence[Message]) -> dict[str, Any]:
    """`usd` is None where no price is known at all; `unpriced` counts the answers that are not in it."""
    answers = [message for message in messages if message.kind is Kind.REPLY]
    priced = [message.usd for message in answers if message.usd is not None]
    return {
        "answers": len(answers),
        "input_tokens": sum(message.input_tokens for message in answers),
        "output_tokens": sum(message.output_tokens for message in answers),
        "usd": round(sum(priced), 6) if priced else None,
        "unpriced": len(answers) - len(priced),
        "seconds": round(sum(message.seconds for message in answers), 3),
    }
