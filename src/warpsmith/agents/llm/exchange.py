"""One question to a model until it is answered: tool calls, rejected answers, and questions that are too long.

An answer that does not parse or cannot be right goes back with the reason, `TRIES` times in all; so does one tool call too many.
What is too long for the model is shortened and asked again. Then the question stays `Unanswered`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from warpsmith.agents.llm import prompts
from warpsmith.agents.llm.calls import Call, calls_in, without_calls
from warpsmith.agents.llm.line import TooLong, ToolsRefused
from warpsmith.agents.llm.memory import Turn, remembered, words_of
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.purse import estimated_tokens
from warpsmith.agents.llm.reading import REFUSED, explained, parsed, raw_answer
from warpsmith.agents.llm.schemas import compact
from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.agents.llm.told import Told
from warpsmith.agents.llm.toolbox import Toolbox
from warpsmith.record.transcript import Kind
from warpsmith.tuning.agent.planning import Unanswered

if TYPE_CHECKING:
    from warpsmith.agents.llm.conversation import Conversation, Notes

TRIES = 3
_MOST_SENT_BACK = 30_000  # characters of a reply that was wrong: sent in full it would be paid for twice
_SHORTENINGS = 8
_SHORTEST_QUESTION = 1_500  # characters: what to answer, and the heads of the facts
_NO_MORE = "No look and no trial is left for this answer: call `answer` now."

Answer = TypeVar("Answer")
Reply = TypeVar("Reply", bound=BaseModel)


class Exchange(Generic[Reply]):
    """`worded` makes the question of what was told before; it is worded anew when older turns were shortened meanwhile."""

    def __init__(
        self,
        talk: Conversation,
        said: Notes,
        instructions: str,
        guide: str,
        worded: Callable[[Told], str],
        schema: type[Reply],
        tools: Toolbox,
    ) -> None:
        self._talk = talk
        self._said = said
        self._system = instructions
        self._guide = guide
        self._worded = worded
        self._schema = schema
        self._tools = tools
        self._steps: list[ModelMessage] = []  # looks and trials, with what they brought
        self._failed: list[ModelMessage] = []  # the last answer that could not be used, and why
        self._asked = False
        self._word()

    def answer(self, read: Callable[[Reply], Answer], gist: Callable[[Answer], str]) -> Answer:
        tries = 0
        while True:
            response = self._response()
            calls = calls_in(response, self._tools.names, self._schema)
            if calls and self._tools.left:
                self._use(response, calls)
                continue
            try:
                answer = self._read(response, bool(calls), read)
            except (Problem, ValidationError) as error:
                problem = presentable(explained(error), prompts.MOST_PROBLEM)
            else:
                self._remember(without_calls(response), gist(answer) + self._tools.gist)
                return answer
            self._said.note(Kind.PROBLEM, problem)
            if response.finish_reason == REFUSED:  # asked again, it refuses again
                raise Unanswered(f"{self._talk.name} refuses to answer")
            tries += 1
            if tries == TRIES:
                raise Unanswered(f"no usable answer of {self._talk.name} in {TRIES} tries")
            again = f"Your answer cannot be used:\n{problem}\n\nGive the whole answer again, without that."
            back = ModelResponse(parts=[TextPart(cut(raw_answer(response), _MOST_SENT_BACK) or "(nothing)")])
            self._failed = [back, self._request(_NO_MORE if calls else again)]

    def _read(self, response: ModelResponse, looks_again: bool, read: Callable[[Reply], Answer]) -> Answer:
        if looks_again:
            raise Problem(_NO_MORE)
        return read(parsed(raw_answer(response), self._schema, response.finish_reason))

    # ── asking ──

    @property
    def _instructions(self) -> str:
        return self._system + self._guide

    def _word(self) -> None:
        self._told = self._talk.memory.told()
        self.question = self._worded(self._told)

    def _response(self) -> ModelResponse:
        """One answer, paid for and noted."""
        for _ in range(_SHORTENINGS):
            messages = self._messages()
            tokens = self._tokens(messages)
            if not self._talk.window.holds(tokens) and self._shorten():
                continue
            if not self._asked and not self._talk.is_recalling:
                self._said.asked(self.question, self._instructions)
                self._asked = True
            try:
                return self._talk.respond(messages, self._tools, tokens, self._said)
            except ToolsRefused:
                self._talk.take_no_tools(self._said)
                self._steps, self._failed = [], []
                self._word()
            except TooLong as error:
                self._talk.window.learn(str(error), tokens)
                held = self._talk.window.tokens
                if not self._shorten():
                    raise Unanswered(f"a question of about {tokens:,} tokens is more than {self._talk.name} holds") from None
                self._said.note(
                    Kind.DECISION, f"too long for the model: shortened to stay within {held:,} tokens, and asked again"
                )
        raise Unanswered(f"the question is more than {self._talk.name} holds, however short")

    def _shorten(self) -> bool:
        """Older turns first, then this turn's looks and trials, its facts, the guide; whether anything was left to shorten."""
        if self._talk.memory.shorten():
            self._word()
        elif self._steps or self._failed:
            self._steps, self._failed = [], []
            self.question = f"{self.question}\n\n{self._tools.summary}".rstrip()
        elif len(self.question) > _SHORTEST_QUESTION:
            self.question = cut(self.question, len(self.question) // 2)
        elif self._guide:
            self._guide = ""
        else:
            return False
        return True

    def _messages(self) -> list[ModelMessage]:
        question = self.question
        if not self._talk.has_tools:
            question = f"{question}\n\n{prompts.how_to_answer(compact(self._schema), self._tools.definitions())}"
        return self._talk.memory.messages(self._instructions, question, [*self._steps, *self._failed])

    def _tokens(self, messages: list[ModelMessage]) -> int:
        tools = json.dumps(self._talk.definitions(self._tools)) if self._talk.has_tools else ""
        return estimated_tokens("".join(map(words_of, messages)) + tools) + self._talk.memory.lasting_tokens(self._instructions)

    def _request(self, text: str) -> ModelRequest:
        return ModelRequest(parts=[UserPromptPart(text)])

    # ── what came ──

    def _use(self, response: ModelResponse, calls: list[Call]) -> None:
        """Every call has its answer, also one that cannot be: in the protocol where the server has tools, else in words."""
        results = [(call, self._tools.use(call, self._said)) for call in calls]
        if rest := self._tools.rest:
            results[-1] = (results[-1][0], f"{results[-1][1]}\n{rest}")
        if not self._talk.has_tools or not response.tool_calls:
            listed = "\n\n".join(f"{call.name}: {result}" for call, result in results)
            self._steps += [ModelResponse(parts=[TextPart(raw_answer(response))]), self._request(listed)]
        else:
            asked = [call.as_part(self._talk.ids) for call in calls]
            told = [
                ToolReturnPart(part.tool_name, result, tool_call_id=part.tool_call_id)
                for part, (_, result) in zip(asked, results, strict=True)
            ]
            kept = [part for part in response.parts if not isinstance(part, ToolCallPart)]
            self._steps += [ModelResponse(parts=[*kept, *asked]), ModelRequest(parts=told)]
        self._failed = []

    def _remember(self, response: ModelResponse, gist: str) -> None:
        steps = [remembered(step) if isinstance(step, ModelResponse) else step for step in self._steps]
        parts = [
            replace(part, tool_call_id=self._talk.ids.unique(part.tool_call_id)) if isinstance(part, ToolCallPart) else part
            for part in remembered(response).parts
        ]
        self._talk.memory.turns.append(Turn(self.question, [*steps, ModelResponse(parts=parts)], self._told.now, gist))
