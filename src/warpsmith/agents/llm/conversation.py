"""One conversation with a model per run: roles are turns. Every message is recorded with its cost.

How a turn comes to its answer is `exchange`'s business, what is remembered of it `memory`'s. A model that cannot be asked any
more is `AgentStopped`. Who answers instead is not decided here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from warpsmith.agents.llm import prompts
from warpsmith.agents.llm.calls import Ids
from warpsmith.agents.llm.exchange import Exchange
from warpsmith.agents.llm.line import Asked, Asking
from warpsmith.agents.llm.memory import KEPT_TOKENS, Memory
from warpsmith.agents.llm.purse import LONGEST_ANSWER, Purse, estimated_tokens
from warpsmith.agents.llm.reading import TOOL, raw_answer, thinking_of
from warpsmith.agents.llm.recalled import THINKING, Recalled, written, written_answer
from warpsmith.agents.llm.scrub import cut, presentable, sound, without_secrets
from warpsmith.agents.llm.told import Told
from warpsmith.agents.llm.toolbox import Toolbox
from warpsmith.agents.llm.window import Window
from warpsmith.record.transcript import TOLD_ONCE, Kind, Message, Role
from warpsmith.tuning.agent.planning import Desk

MOST_RECORDED = 60_000  # characters of one message in the record
_MOST_THINKING = 4_000

Answer = TypeVar("Answer")
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(slots=True)
class Conversation:
    """`name` is how the user called the model: it stands in the record. `answers` is the schema of every role's answer."""

    name: str
    line: Asked
    purse: Purse
    desk: Desk
    answers: dict[str, Any]
    find_window: Callable[[], Window]
    always_limited: bool = False  # the provider wants to know how long an answer may be
    memory: Memory = field(default_factory=Memory)
    ids: Ids = field(default_factory=Ids)
    has_tools: bool = True
    noted: str = ""  # of what every request begins with
    _window: Window | None = None
    _rule_told: bool = False
    _recalled: Recalled | None = None
    _queue: list[str] = field(default_factory=list)  # answers of before an interruption, to the question at hand

    def ask(
        self,
        role: Role,
        round_: int,
        instructions: str,
        question: Callable[[Told], str],
        schema: type[Reply],
        read: Callable[[Reply], Answer],
        *,
        gist: Callable[[Answer], str],
        guide: str = "",
        tools: Toolbox | None = None,
    ) -> Answer:
        """What `read` makes of the reply. `read` may raise Problem; `gist` is what is remembered once the turn is shortened.

        Every request begins with the instructions, and the guide where the model has room for it.
        """
        said = Notes(self, role, round_)
        if self.memory.tokens > KEPT_TOKENS:
            self.memory.shorten()
        exchange = Exchange(self, said, instructions, guide, question, schema, tools or Toolbox())
        self._queue = self._recall(role, round_, question(Told(set())))
        if self._queue:
            said.note(Kind.DECISION, f"{self.name} had answered before the run was interrupted: that answer is used")
        else:
            self._tell_rule(said)
        word = self.line.begin(Asking(role, round_, exchange.question, instructions + guide, len(self._queue)))
        if word is not None:
            said.note(Kind.DECISION, word)
        answer = exchange.answer(read, gist)
        if role is Role.TESTER:  # its shapes are of no use to the other roles
            self.memory.shorten()
        return answer

    def note(self, role: Role, round_: int, kind: Kind, text: str) -> None:
        Notes(self, role, round_).note(kind, presentable(text, prompts.MOST_PROBLEM))

    @property
    def is_recalling(self) -> bool:
        return bool(self._queue)

    @property
    def window(self) -> Window:
        if self._window is None:
            self._window = self.find_window()
        return self._window

    def take_no_tools(self, said: Notes) -> None:
        self.has_tools = False
        self.memory.shorten()
        said.note(Kind.DECISION, "this server takes no tool calls: from here on answers are asked for as JSON in plain words")

    def definitions(self, tools: Toolbox) -> list[dict[str, Any]]:
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in self._parameters(tools).function_tools
        ]

    def respond(self, messages: list[ModelMessage], tools: Toolbox, tokens: int, said: Notes) -> ModelResponse:
        """One response: recalled, or paid for and noted. Raises AgentStopped, TooLong or ToolsRefused."""
        if self._queue:
            return written_answer(self._queue.pop(0))
        longest = self.purse.longest_answer(tokens)
        if longest is None and self.always_limited:
            longest = LONGEST_ANSWER
        began = time.perf_counter()
        response = self.line.request(messages, self._parameters(tools), longest, lambda why: said.note(Kind.FAULT, why))
        said.answered(response, tokens, time.perf_counter() - began)
        return response

    def _parameters(self, tools: Toolbox) -> ModelRequestParameters:
        """The same for every turn that has the same tools, so that providers find the beginning in their caches."""
        if not self.has_tools:
            return ModelRequestParameters()
        answer = prompts.Tool(TOOL, "Your answer: the fields that the turn asks for.", self.answers)
        known = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.arguments, strict=False)
            for tool in (answer, *tools.definitions())
        ]
        return ModelRequestParameters(function_tools=known, allow_text_output=False)

    def _recall(self, role: Role, round_: int, question: str) -> list[str]:
        if self._recalled is None:
            self._recalled = Recalled(self.desk.before(), self.name)
        return self._recalled.take(role, round_, question)

    def _tell_rule(self, said: Notes) -> None:
        if not self._rule_told and self.purse.rule is not None:
            said.note(Kind.DECISION, self.purse.rule)
        self._rule_told = True


@dataclass(frozen=True, slots=True)
class Notes:
    """The messages about one question."""

    talk: Conversation
    role: Role
    round: int

    def note(self, kind: Kind, text: str) -> None:
        if not (self.talk.is_recalling and kind in {Kind.TOOL, Kind.PROBLEM}):  # those are on record already
            self.talk.desk.note(Message(self.role, kind, _recordable(text), self.round, self.talk.name))

    def asked(self, question: str, instructions: str) -> None:
        """What every request begins with stands once in the record, below the first question that had it."""
        new = instructions.removeprefix(self.talk.noted).strip()
        if new:
            question = f"{question}\n\n{TOLD_ONCE}, at the beginning of every request\n\n{new}"
        self.talk.noted = instructions
        self.note(Kind.PROMPT, question)

    def answered(self, response: ModelResponse, estimate: int, seconds: float) -> None:
        raw, thinking = written(response), thinking_of(response)
        used = response.usage
        asked = used.input_tokens or estimate
        answered = used.output_tokens or estimated_tokens(raw_answer(response) + thinking)
        cached = {"cache_read": used.cache_read_tokens, "cache_write": used.cache_write_tokens}
        usd = float(used.cost) if used.cost is not None else self.talk.purse.price.usd(asked, answered, **cached)
        thought = re.sub(r"\n\s*\n", "\n", cut(thinking, _MOST_THINKING)).strip()  # an empty line ends it in the record
        shown = f"{THINKING}{thought}\n\n{raw}" if thought else raw
        self.talk.desk.note(
            Message(self.role, Kind.REPLY, _recordable(shown), self.round, self.talk.name, asked, answered, usd, seconds)
        )


def _recordable(text: str) -> str:
    return cut(without_secrets(sound(text)), MOST_RECORDED)
