"""A recorded conversation that replaces a model: the same questions in the same order get their recorded answers.

What is measured differs from run to run, so a question is the same where it asks for the same thing in the same round. Where it
was told other things than other figures, that is said, and the recorded answer is used; a question that was not recorded has no
answer. Looks and trials of a recorded answer are made anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.usage import RequestUsage

from warpsmith.agents.llm.line import Asking
from warpsmith.agents.llm.recalled import heading_of, written_answer
from warpsmith.agents.llm.scrub import cut
from warpsmith.record.conversation import Question, StoredConversation, read_conversations
from warpsmith.record.transcript import TOLD_ONCE, Message
from warpsmith.tuning.agent.planning import AgentStopped, Unanswered

_FIGURE = re.compile(r"\d(?:[\d,.]*\d)?")
_INTERVAL = re.compile(r" ?\[#, #\]")
_VERSION = re.compile(r"\(prompt version \d+\)")
_MOST_SHOWN = 160  # characters of a line that differs


@dataclass(slots=True)
class RecordedPrice:
    """What the recorded answers cost is known, and stands in each of them."""

    model: str
    known: bool

    def usd(self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None:  # noqa: ARG002
        return 0.0 if self.known else None


@dataclass(slots=True)
class Recording:
    """Implements `Asked`. Of several runs' conversations that of the same seed answers, or else the first."""

    path: Path
    seed: int
    parts: list[StoredConversation] = field(init=False)
    price: RecordedPrice = field(init=False)
    _unused: list[list[Question]] = field(init=False)
    _place: list[int] = field(init=False)  # in each part: how many questions were asked, or passed over
    _turn: int = 0
    _answers: list[Message] = field(default_factory=list)
    _missing: str | None = None

    def __post_init__(self) -> None:
        """Raises InputError."""
        known = read_conversations(self.path)
        seeds = [part.about.get("seed") for part in known]
        seed = self.seed if self.seed in seeds else seeds[0]
        self.parts = [part for part in known if part.about.get("seed") == seed]
        self._unused = [list(part.questions) for part in self.parts]
        self._place = [0] * len(self.parts)
        answers = [answer for part in self.parts for question in part.questions for answer in question.answers]
        self.price = RecordedPrice(str(self.path.name), all(answer.usd is not None for answer in answers))

    def begin(self, asking: Asking) -> str | None:
        """As in `Asked`."""
        self._turn += 1
        title = heading_of(asking.question)
        about = f"turn {self._turn}, {title!r} ({asking.role}, round {asking.round})"
        found = next(((p, q) for p, part in enumerate(self._unused) for q in part if _is_same(q, asking)), None)
        if found is None:
            left = sum(map(len, self._unused))
            rest = f"{left} of its questions were not asked yet" if left else "it has no further question"
            self._missing, self._answers = f"{about} was not asked when {self.path.name} was recorded; {rest}", []
            return None
        part, question = found
        self._unused[part].remove(question)
        self._missing, self._answers = None, question.answers[asking.answered :]
        notes = [self._introduced(part, question, asking)] if self._turn == 1 else []
        notes += [self._passed_over(part, question, about), _differs(question, asking, about)]
        return "\n".join(filter(None, notes)) or None

    def request(
        self,
        messages: Sequence[ModelMessage],  # noqa: ARG002 - as a model's line has them
        parameters: ModelRequestParameters,  # noqa: ARG002
        longest_answer: int | None,  # noqa: ARG002
        on_fault: Callable[[str], None],  # noqa: ARG002
    ) -> ModelResponse:
        """As in `Asked`. Raises Unanswered where the recording has no answer, AgentStopped where it is at its end."""
        if self._missing is not None:
            raise (Unanswered if any(self._unused) else AgentStopped)(self._missing)
        if not self._answers:
            raise Unanswered(f"turn {self._turn}: the recording has no further answer to it, since it was accepted then")
        answer = self._answers.pop(0)
        response = written_answer(answer.text)
        response.usage = RequestUsage(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
        return response

    # ── what is said of it ──

    def _introduced(self, part: int, question: Question, asking: Asking) -> str:
        about = self.parts[part].about
        words = f"the answers are those that {about.get('agent')} gave on {about.get('device')}: no model is asked"
        before = question.asked.partition(TOLD_ONCE)[2].split("\n")
        changed = [line for line in asking.instructions.split("\n") if line not in before]
        if not changed or before == [""]:
            return words
        return f"{words}; what is told of kernel and device has other lines, the first: {cut(changed[0], _MOST_SHOWN)!r}"

    def _passed_over(self, part: int, question: Question, about: str) -> str:
        """Recorded questions before this one that were not asked this time."""
        questions = self.parts[part].questions
        place = next(number for number, known in enumerate(questions) if known is question)
        skipped = [known for known in questions[self._place[part] : place] if known in self._unused[part]]
        self._place[part] = max(self._place[part], place + 1)
        listed = ", ".join(f"{heading_of(known.asked)!r} (round {known.round})" for known in skipped)
        return f"{about}: before it was recorded, and is not asked now: {listed}" if skipped else ""


def _is_same(known: Question, asking: Asking) -> bool:
    return (known.role, known.round, _wanted(known.asked)) == (asking.role, asking.round, _wanted(asking.question))


def _wanted(question: str) -> tuple[str, str]:
    """What is asked for: the title, and of a form that is to be mended its number."""
    title = heading_of(question)
    form = re.search(r"[Ff]orm (\d+)", question) if "repair" in title else None
    return title, form[1] if form is not None else ""


def _differs(known: Question, asking: Asking, about: str) -> str:
    """Which lines are told that were not told then, figures apart."""
    before = set(_masked(known.asked.partition(TOLD_ONCE)[0]))
    new = [line for line in _masked(asking.question) if line not in before]
    if not new:
        return ""
    lines = f"{len(new)} lines" if len(new) > 1 else "a line"
    first = f"the first: {cut(new[0], _MOST_SHOWN)!r}"
    return f"{about}: the question has {lines} that the recorded one has not, {first}; its answer is used"


def _masked(text: str) -> list[str]:
    found = _INTERVAL.sub("", _FIGURE.sub("#", _VERSION.sub("", text)))
    return [line.strip() for line in found.split("\n") if line.strip()]
