"""Tool calls in a model's response: separates inspections and trials from the answer, and explains invalid calls."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.reading import TOOL, json_object, parsed, raw_answer
from warpsmith.agents.llm.scrub import sound

_NAMES = frozenset({"tool", "name"})
_ARGUMENTS = ("arguments", "parameters", "args")


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments` is None where they are not an object in JSON."""

    name: str
    arguments: dict[str, Any] | None
    part: ToolCallPart | None = None  # None where it was asked for in words

    def as_part(self, ids: Ids) -> ToolCallPart:
        """As it can be told again: with an id of its own, and arguments that a server's template can read."""
        part = self.part or ToolCallPart(self.name, tool_call_id="")
        arguments = part.args if self.arguments is not None else {}
        return replace(part, tool_name=self.name, args=arguments, tool_call_id=ids.unique(part.tool_call_id))


class Ids:
    """Of the calls of one conversation: some servers give the same one twice, or none."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, wanted: str) -> str:
        numbered = (f"call_{number}" for number in count(len(self._taken) + 1))
        found = next(name for name in chain([wanted], numbered) if name and name not in self._taken)
        self._taken.add(found)
        return found


def calls_in(response: ModelResponse, names: Collection[str], schema: type[BaseModel]) -> list[Call]:
    """Looks and trials that are asked for; none where the answer is there too, which then counts alone."""
    if not names:
        return []
    if not response.tool_calls:
        call = _in_words(response, names)
        return [] if call is None else [call]
    calls = [Call(part.tool_name.rpartition(".")[2], _object(part.args), part) for part in response.tool_calls]
    if any(_is_answer(call, names, schema) for call in calls):
        return []
    return [call for call in calls if call.name != TOOL]


def without_calls(response: ModelResponse) -> ModelResponse:
    """The answer without the looks that were asked for beside it; in words where its arguments are not JSON."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    chosen = next((part for part in calls if part.tool_name == TOOL), calls[0] if calls else None)
    if chosen is None or _object(chosen.args) is None:
        return ModelResponse(parts=[TextPart(raw_answer(response))])
    named = ToolCallPart(TOOL, chosen.args_as_json_str(), tool_call_id=chosen.tool_call_id)
    return ModelResponse(parts=[*(part for part in response.parts if isinstance(part, TextPart) and part.content), named])


def _is_answer(call: Call, names: Collection[str], schema: type[BaseModel]) -> bool:
    """By its name; or, where no such tool is known, by what it says."""
    if call.name == TOOL:
        return bool(call.arguments)
    if call.name in names:
        return False
    try:
        return bool(call.arguments) and bool(parsed(json.dumps(call.arguments), schema, None).model_fields_set)
    except (Problem, ValidationError):
        return False


def _in_words(response: ModelResponse, names: Collection[str]) -> Call | None:
    """`{"tool": "look_at", "arguments": {…}}`, as servers without tool calls are told to ask."""
    found = json_object(raw_answer(response), _NAMES)
    if found is None:
        return None
    name = next((found[key] for key in ("tool", "name") if isinstance(found.get(key), str)), "")
    arguments = next((found[key] for key in _ARGUMENTS if key in found), None)
    return Call(name, _object(arguments)) if name in names else None


def _object(arguments: Any) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(sound(arguments), strict=False) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return None
    return dict(arguments) if isinstance(arguments, dict) else {} if arguments is None else None
