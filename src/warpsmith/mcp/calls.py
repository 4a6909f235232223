"""Wraps tool calls: progress messages, cancellation, bounded answers.

Clients give up on calls that stay silent (after a minute, many of them); a note of progress every few seconds keeps them waiting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.from_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent
from pydantic import ValidationError

from warpsmith.tuning.events import Event, StageAdvanced

Answer = CallToolResult | InputRequiredResult

BEAT_S = 5.0
_LONGEST_ERROR = 4_000  # characters: what was sent must not come back whole
_LONGEST_FOUND = 120


@dataclass(slots=True)
class _Call:
    tool: str
    doing: str = ""
    began: float = field(default_factory=time.monotonic)


_current: ContextVar[_Call | None] = ContextVar("call", default=None)


def advance(event: Event) -> None:
    """For what a tool does step by step: the client is told where it is, and a call that was cancelled ends here."""
    call = _current.get()
    if call is None:
        return  # not called by a client
    if isinstance(event, StageAdvanced):
        call.doing = event.detail
    anyio.from_thread.check_cancelled()


async def answered(tool: str, context: Context[Any, Any] | None, work: Callable[[], Awaitable[Answer]]) -> Answer:
    """What the work answers, with signs of life meanwhile. Raises ToolError."""
    call = _Call(tool)
    token = _current.set(call)
    failure: Exception | None = None
    answer: Answer | None = None
    try:
        async with anyio.create_task_group() as group:
            if context is not None:
                group.start_soon(_beat, call, context)
            try:
                answer = await work()
            except Exception as error:  # noqa: BLE001 - raised again below: a group would wrap it
                failure = error
            group.cancel_scope.cancel()
    finally:
        _current.reset(token)
    if failure is not None:
        raise _told(failure)
    assert answer is not None, "the work answers or fails"
    return _short(answer)


async def _beat(call: _Call, context: Context[Any, Any]) -> None:
    while True:
        await anyio.sleep(BEAT_S)
        seconds = time.monotonic() - call.began
        await context.report_progress(seconds, None, f"{call.tool}: {call.doing or 'working'}, {seconds:.0f} s so far")


def _told(error: Exception) -> Exception:
    if not isinstance(error, ToolError):
        return error
    wrong = error.__cause__
    if isinstance(wrong, ValidationError):
        return ToolError("\n".join(_wrong_argument(fault) for fault in wrong.errors(include_url=False, include_context=False)))
    text = str(error)
    return error if len(text) <= _LONGEST_ERROR else ToolError(f"{text[:_LONGEST_ERROR]} [… {len(text):,} characters]")


def _wrong_argument(fault: Any) -> str:
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"the argument {where!r} is missing"
    found = json.dumps(fault["input"], default=str)
    shown = found if len(found) <= _LONGEST_FOUND else f"{found[:_LONGEST_FOUND]}…"
    return f"{where}: {fault['msg']}; found {shown}"


def _short(answer: Answer) -> Answer:
    """The text that a model reads: without indentation, and without fields that say nothing."""
    told = answer.structured_content if isinstance(answer, CallToolResult) else None
    if not isinstance(answer, CallToolResult) or told is None or answer.is_error:
        return answer
    text = json.dumps(_saying(told), ensure_ascii=False, separators=(", ", ": "))
    return answer.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _saying(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _saying(part) for name, part in value.items() if part is not None and part not in ("", [], {})}
    return [_saying(part) for part in value] if isinstance(value, list) else value
