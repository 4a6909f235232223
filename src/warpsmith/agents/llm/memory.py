"""The message history of a run: the turns of one conversation, older ones summarised to their decisions.

Shortening is ours and deterministic. Every fact of a run (times, forms, outcomes) can be told again, so a shortened turn loses
words and no figures: what was told in it counts as not told, and the next turn says it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from warpsmith.agents.llm.purse import estimated_tokens
from warpsmith.agents.llm.told import Told

KEPT_TOKENS = 6_000  # of older turns when a new one begins: beyond, sending them again costs more than their figures
_NOTED = "noted"


@dataclass(slots=True)
class Turn:
    """`exchange` is what followed the question, up to the answer; `gist` what remains once the turn is shortened."""

    question: str
    exchange: list[ModelMessage]
    told: set[str]
    gist: str

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.question + "".join(map(words_of, self.exchange)))


@dataclass(slots=True)
class Memory:
    turns: list[Turn] = field(default_factory=list)
    gists: list[str] = field(default_factory=list)

    def told(self) -> Told:
        return Told({part for turn in self.turns for part in turn.told})

    @property
    def tokens(self) -> int:
        return sum(turn.tokens for turn in self.turns) + estimated_tokens(self._earlier)

    def lasting_tokens(self, instructions: str) -> int:
        return estimated_tokens(instructions + self._earlier)

    def has_said(self, parts: Iterable[str]) -> None:
        """What the model wrote itself in the last turn: it need not be told that while the turn is remembered."""
        if self.turns:
            self.turns[-1].told.update(parts)

    def shorten(self) -> bool:
        """Whether there was anything to shorten."""
        had = bool(self.turns)
        self.gists += [turn.gist for turn in self.turns if turn.gist]
        self.turns = []
        return had

    def messages(self, instructions: str, question: str, exchange: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The whole conversation, ending with the exchange about the question.

        Every request of it has the same instructions: a provider sends those of the last one alone.
        """
        asked = [*(turn.question for turn in self.turns), question]
        found: list[ModelMessage] = []
        for text, then in zip(asked, [*(turn.exchange for turn in self.turns), exchange], strict=True):
            returns = _returns(found[-1]) if found else []
            found += [ModelRequest(parts=[*returns, UserPromptPart(text)]), *then]
        lasting = f"{instructions}{self._earlier}"
        return [replace(m, instructions=lasting) if isinstance(m, ModelRequest) else m for m in found]

    @property
    def _earlier(self) -> str:
        """At the end of what every request begins with: what stands before it stays the same."""
        if not self.gists:
            return ""
        listed = "\n".join(f"- {gist}" for gist in self.gists)
        return f"\n\n# Earlier turns of this run, shortened\n{listed}"


def _returns(before: ModelMessage) -> list[ToolReturnPart]:
    """Every call wants an answer, the one that was the model's answer too."""
    if not isinstance(before, ModelResponse):
        return []
    return [ToolReturnPart(call.tool_name, _NOTED, tool_call_id=call.tool_call_id) for call in before.tool_calls]


def remembered(response: ModelResponse) -> ModelResponse:
    """What is kept of a response once its turn is over: its words and calls. Thinking is the provider's, and long."""
    parts: list[TextPart | ToolCallPart] = []
    for part in response.parts:
        match part:
            case TextPart():
                parts.append(TextPart(part.content))
            case ToolCallPart():
                parts.append(ToolCallPart(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id))
            case _:
                pass
    return ModelResponse(parts=parts)


def words_of(message: ModelMessage) -> str:
    if isinstance(message, ModelResponse):
        calls = "".join(call.args_as_json_str() for call in message.tool_calls)
        return calls + "".join(part.content for part in message.parts if isinstance(part, TextPart))
    return "".join(str(getattr(part, "content", "")) for part in message.parts)
