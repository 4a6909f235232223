"""One question to a model and its validated answer. Everything that is said is noted, in order, with what it cost.

An answer that does not parse or cannot be right goes back with the reason, `TRIES` times in all. Then the question stays
`Unanswered`; a model that cannot be asked any more is `AgentStopped`. Who answers instead is not decided here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from warpsmith.agents.llm import prompts
from warpsmith.agents.llm.line import Line, ToolsRefused
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.purse import LONGEST_ANSWER, Purse, estimated_tokens
from warpsmith.agents.llm.reading import REFUSED, TOOL, explained, parsed, raw_answer, thinking_of
from warpsmith.agents.llm.recalled import Recalled
from warpsmith.agents.llm.scrub import cut, presentable, sound, without_secrets
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.tuning.agent.planning import Desk, Unanswered

TRIES = 3
MOST_RECORDED = 60_000  # characters of one message in the record
_MOST_SENT_BACK = 30_000  # of a reply that was wrong: sent in full it would be paid for twice
_MOST_THINKING = 4_000

Answer = TypeVar("Answer")
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(slots=True)
class Conversation:
    """`name` is how the user called the model: it stands in the record."""

    name: str
    line: Line
    purse: Purse
    desk: Desk
    always_limited: bool = False  # the provider wants to know how long an answer may be
    _tools: bool = True
    _rule_told: bool = False
    _recalled: Recalled | None = None

    def ask(self, role: Role, round_: int, question: str, schema: type[Reply], read: Callable[[Reply], Answer]) -> Answer:
        """What `read` makes of the reply. `read` may raise Problem."""
        said = _Notes(self, role, round_)
        if (recalled := self._recall(role, round_, question)) is not None:
            with suppress(Problem, ValidationError):  # it was of no use then either: asked again
                answer = read(parsed(recalled, schema, None))
                said.note(Kind.DECISION, f"{self.name} had answered before the run was interrupted: that answer is used")
                return answer
        self._tell_rule(said)
        messages: list[ModelMessage] = [_request(prompts.system(), self._worded(question, schema))]
        said.note(Kind.PROMPT, question)
        for tries in range(1, TRIES + 1):
            response = self._response(messages, question, schema, said)
            raw = raw_answer(response)
            try:
                return read(parsed(raw, schema, response.finish_reason))
            except (Problem, ValidationError) as error:
                problem = presentable(explained(error), prompts.MOST_PROBLEM)
            said.note(Kind.PROBLEM, problem)
            if response.finish_reason == REFUSED:  # asked again, it refuses again
                raise Unanswered(f"{self.name} refuses to answer")
            if tries < TRIES:
                again = f"Your answer cannot be used:\n{problem}\n\nGive the whole answer again, without that."
                messages = [
                    *messages[:1],
                    ModelResponse(parts=[TextPart(cut(raw, _MOST_SENT_BACK) or "(nothing)")]),
                    _request(None, again),
                ]
        raise Unanswered(f"no usable answer of {self.name} in {TRIES} tries")

    def _recall(self, role: Role, round_: int, question: str) -> str | None:
        if self._recalled is None:
            self._recalled = Recalled(self.desk.before(), self.name)
        return self._recalled.take(role, round_, question)

    def note(self, role: Role, round_: int, kind: Kind, text: str) -> None:
        _Notes(self, role, round_).note(kind, presentable(text, prompts.MOST_PROBLEM))

    def _worded(self, question: str, schema: type[BaseModel]) -> str:
        return question if self._tools else f"{question}\n\n{prompts.how_to_answer(schema.model_json_schema())}"

    def _response(self, messages: list[ModelMessage], question: str, schema: type[BaseModel], said: _Notes) -> ModelResponse:
        """One answer, paid for and noted."""
        asked = "".join(_words(message) for message in messages)
        tokens = estimated_tokens(asked + (json.dumps(schema.model_json_schema()) if self._tools else ""))
        longest = self.purse.longest_answer(tokens)
        if longest is None and self.always_limited:
            longest = LONGEST_ANSWER
        began = time.perf_counter()
        try:
            response = self.line.request(messages, self._parameters(schema), longest, lambda why: said.note(Kind.FAULT, why))
        except ToolsRefused:
            self._tools = False
            said.note(Kind.DECISION, "this server takes no tool calls: from here on answers are asked for as JSON in plain words")
            messages[0] = _request(prompts.system(), self._worded(question, schema))
            return self._response(messages, question, schema, said)
        said.answered(response, tokens, time.perf_counter() - began)
        return response

    def _parameters(self, schema: type[BaseModel]) -> ModelRequestParameters:
        if not self._tools:
            return ModelRequestParameters()
        tool = ToolDefinition(
            name=TOOL,
            parameters_json_schema=schema.model_json_schema(),
            description=schema.__doc__ or "Your answer.",
            kind="output",
            strict=False,
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)

    def _tell_rule(self, said: _Notes) -> None:
        if not self._rule_told and self.purse.rule is not None:
            said.note(Kind.DECISION, self.purse.rule)
        self._rule_told = True


@dataclass(frozen=True, slots=True)
class _Notes:
    """What is said about one question."""

    talk: Conversation
    role: Role
    round: int

    def note(self, kind: Kind, text: str) -> None:
        self.talk.desk.note(Message(self.role, kind, _recordable(text), self.round, self.talk.name))

    def answered(self, response: ModelResponse, estimate: int, seconds: float) -> None:
        raw, thinking = raw_answer(response), thinking_of(response)
        used = response.usage
        asked = used.input_tokens or estimate
        answered = used.output_tokens or estimated_tokens(raw + thinking)
        cached = {"cache_read": used.cache_read_tokens, "cache_write": used.cache_write_tokens}
        usd = float(used.cost) if used.cost is not None else self.talk.purse.price.usd(asked, answered, **cached)
        shown = f"[thinking] {cut(thinking, _MOST_THINKING)}\n\n{raw}" if thinking else raw
        self.talk.desk.note(
            Message(self.role, Kind.REPLY, _recordable(shown), self.round, self.talk.name, asked, answered, usd, seconds)
        )


def _recordable(text: str) -> str:
    return cut(without_secrets(sound(text)), MOST_RECORDED)


def _request(system: str | None, question: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(question)], instructions=system)


def _words(message: ModelMessage) -> str:
    parts = "".join(str(getattr(part, "content", "")) for part in message.parts)
    return parts + (message.instructions or "" if isinstance(message, ModelRequest) else "")
