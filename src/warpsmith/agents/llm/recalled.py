"""Earlier answers of a model, read from a transcript: those of an interrupted run, and those of a recording.

A response stands in the record as the answer alone, or, where it asked for looks and trials, as a line for each call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from warpsmith.agents.llm.reading import TOOL, raw_answer
from warpsmith.record.conversation import Question, questions
from warpsmith.record.transcript import CALL, Message, Role

THINKING = "[thinking] "
"""Begins a recorded reply that has the model's thinking before it, up to the first empty line."""

_VERSION = re.compile(r" \(prompt version \d+\)$")


def written(response: ModelResponse) -> str:
    """A response as it is recorded."""
    if all(part.tool_name == TOOL for part in response.tool_calls):
        return raw_answer(response)
    return "\n".join(
        CALL + json.dumps({"tool": part.tool_name, "arguments": part.args_as_json_str()}) for part in response.tool_calls
    )


def written_answer(text: str) -> ModelResponse:
    """A recorded response as the model gave it."""
    text = text.partition("\n\n")[2] if text.startswith(THINKING) else text
    if not text.startswith(CALL):
        return ModelResponse(parts=[TextPart(text)])
    try:
        calls = [json.loads(line.removeprefix(CALL)) for line in text.splitlines() if line.startswith(CALL)]
        return ModelResponse(parts=[ToolCallPart(call["tool"], call["arguments"]) for call in calls])
    except (ValueError, KeyError, TypeError):  # cut off where it was too long
        return ModelResponse(parts=[TextPart("")])


class Recalled:
    """By role and round, in the order in which they were asked. Every answer is given once."""

    def __init__(self, messages: Iterable[Message], model: str) -> None:
        self._asked: dict[tuple[Role, int], list[Question]] = {}
        mine = [message for message in messages if message.model == model]
        for key in dict.fromkeys((message.role, message.round) for message in mine):
            self._asked[key] = questions(m for m in mine if (m.role, m.round) == key)

    def take(self, role: Role, round_: int, asked: str) -> list[str]:
        """What was answered to the next question of that kind; nothing where something else was asked."""
        found = self._asked.pop((role, round_), [])
        if not found or heading_of(found[0].asked) != heading_of(asked):
            return []  # it went another way this time: what follows belongs to the old one
        self._asked[role, round_] = found[1:]
        return [answer.text for answer in found[0].answers]


def heading_of(question: str) -> str:
    """Figures in a question may differ after a while; what it asks for does not."""
    return _VERSION.sub("", question.partition("\n")[0]).removeprefix("# ")
