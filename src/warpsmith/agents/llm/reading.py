"""Parses a model's answer: extracts the JSON, and describes errors for the model."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.scrub import cut, sound

TOOL = "answer"
LARGEST_REPLY = 250_000  # characters; longer ones are not even parsed
REFUSED = "content_filter"  # pydantic-ai's word for it
_MOST_BRACES = 200  # places where the object might begin
_CODE = re.compile(r"```(?!json)[\w+]+[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"\A.*?</think(?:ing)?>(?=.*\{)", re.DOTALL)  # some templates have no opening tag
_NO_ARGUMENTS = frozenset({"", "{}", "null"})
_WRAPPERS = frozenset({"name", "arguments", "parameters", "type", "function", "id"})  # of a call that is written as text
_DEEPEST = 3

Reply = TypeVar("Reply", bound=BaseModel)


def json_object(text: str, wanted: frozenset[str]) -> dict[str, Any] | None:
    """The first object with one of these fields in a text; None where there is none."""
    try:
        found = _json_in(_THINKING.sub("", text), wanted)
    except Problem:
        return None
    return found if found.keys() & wanted else None


def raw_answer(response: ModelResponse) -> str:
    """The answer as the model wrote it: the tool's arguments, or else its words."""
    return sound(_words_of(response))


def _words_of(response: ModelResponse) -> str:
    """Of several calls the first of our tool that has arguments; who calls it without any may have answered in words."""
    for call in sorted(response.tool_calls, key=lambda call: call.tool_name != TOOL):
        arguments = call.args if isinstance(call.args, str) else json.dumps(call.args or {})
        if arguments.strip() not in _NO_ARGUMENTS:
            return arguments
    words = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    # Servers that cut the thinking off by its tags take all for thinking where the model forgot one.
    return words or str((response.provider_details or {}).get("refusal") or "") or thinking_of(response)


def thinking_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))


def parsed(raw: str, schema: type[Reply], finish_reason: str | None) -> Reply:
    cut_short = finish_reason == "length"
    if finish_reason == REFUSED:
        raise Problem("the model, or its provider, refused to answer")
    if len(raw) > LARGEST_REPLY:
        raise Problem(f"the answer has {len(raw):,} characters; at most {LARGEST_REPLY:,} are read")
    if not raw.strip():
        raise Problem("the answer is empty" + (": all tokens went before it began" if cut_short else ""))
    try:
        return schema.model_validate(_object_in(raw, schema))
    except (Problem, ValidationError) as error:
        if cut_short:
            raise Problem(f"the answer ended at the limit of its length; be shorter ({explained(error)})") from None
        raise


def _object_in(raw: str, schema: type[BaseModel]) -> Any:
    """The JSON object of an answer, alone, in a fence or among words; source code may stand in a fence beside it."""
    text = _THINKING.sub("", raw)
    found = _json_in(text, frozenset(schema.model_fields))
    if "source" in schema.model_fields and not found.get("source") and (code := _CODE.search(text)) is not None:
        return {**found, "source": code[1]}
    return found


def _json_in(text: str, wanted: frozenset[str]) -> dict[str, Any]:
    """The first object with a field that is wanted; or, where nothing else could be meant, the first one."""
    decoder = json.JSONDecoder(strict=False)  # line ends inside strings are how models write source
    other: dict[str, Any] | None = None
    fault: str | None = None
    start = text.find("{")
    for _ in range(_MOST_BRACES):
        if start < 0:
            break
        try:
            found, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            fault, end = fault or f"{error.msg} at line {error.lineno}, column {error.colno}", start + 1
        except (ValueError, RecursionError) as error:  # a number or a nesting beyond all measure
            fault, end = fault or str(error), start + 1
        else:
            if (inner := _wanted_in(found, wanted)) is not None:
                return dict(_sound(inner))
            other = found if other is None else other
        start = text.find("{", end)
    if fault is not None:
        raise Problem(f"the answer is not valid JSON: {fault}")
    if other is None:
        raise Problem("there is no JSON object in the answer")
    return dict(_sound(other))


def _wanted_in(value: Any, wanted: frozenset[str], depth: int = 0) -> dict[str, Any] | None:
    """The object itself, or the one that it wraps: models without a tool parser write `{"name": …, "arguments": {…}}`."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value, strict=False)
        except ValueError:
            return None
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    if value.keys() & wanted and not ("name" in value and value.keys() <= _WRAPPERS):
        return value
    inside = (_wanted_in(part, wanted, depth + 1) for part in value.values())
    return next((found for found in inside if found is not None), value if value.keys() & wanted else None)


def _sound(value: Any) -> Any:
    match value:
        case str():
            return sound(value)
        case list():
            return [_sound(part) for part in value]
        case dict():
            return {sound(name): _sound(part) for name, part in value.items()}
        case _:
            return value


def explained(error: Problem | ValidationError) -> str:
    if isinstance(error, Problem):
        return str(error)
    lines = []
    for fault in error.errors(include_url=False, include_context=False)[:8]:
        where = ".".join(map(str, fault["loc"])) or "the answer"
        found = json.dumps(fault["input"], default=str)
        lines.append(f"- {where}: {fault['msg']}; found {cut(found, 200)}")
    return "it does not match the schema:\n" + "\n".join(lines)
