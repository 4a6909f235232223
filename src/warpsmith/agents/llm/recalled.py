"""Answers that a model gave before its run was interrupted. A resumed run comes to the same questions, and need not pay twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.record.transcript import Kind, Message, Role

_THINKING = "[thinking] "


@dataclass(slots=True)
class _Question:
    heading: str
    answer: str | None = None  # the last that came: those before it had to be mended


class Recalled:
    """By role and round, in the order in which they were asked. Every answer is given once."""

    def __init__(self, messages: Iterable[Message], model: str) -> None:
        self._asked: dict[tuple[Role, int], list[_Question]] = {}
        for message in messages:
            if message.model != model:
                continue
            questions = self._asked.setdefault((message.role, message.round), [])
            if message.kind is Kind.PROMPT:
                questions.append(_Question(_heading(message.text)))
            elif message.kind is Kind.REPLY and questions:
                questions[-1].answer = message.text

    def take(self, role: Role, round_: int, asked: str) -> str | None:
        """The last that was answered to the next question of that kind; None where nothing was, or something else was asked."""
        questions = [question for question in self._asked.pop((role, round_), []) if question.answer is not None]
        if not questions or questions[0].heading != _heading(asked):
            return None  # it went another way this time: what follows belongs to the old one
        self._asked[role, round_] = questions[1:]
        text = questions[0].answer or ""
        return text.rpartition("\n\n")[2] if text.startswith(_THINKING) else text


def _heading(question: str) -> str:
    """Figures in a question may differ after a while; what it asks for does not."""
    return question.partition("\n")[0]
