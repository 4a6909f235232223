"""Output of `show RUN --transcript`: messages by round, with cost and results."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.core.plain_text import printable
from warpsmith.record.transcript import CALL, Kind
from warpsmith.report.wording import cost_text, counted

_STYLES = {
    Kind.PROMPT: "dim",
    Kind.REPLY: "",
    Kind.PROBLEM: "yellow",
    Kind.FAULT: "red",
    Kind.DECISION: "green",
    Kind.TOOL: "cyan",
    Kind.TRIAL: "cyan",
}
_INDENT = "    "
_WIDTH = 116
_MOST_SEEN = 12  # lines of what a tool brought: machine code has hundreds


def render_transcript(book: Mapping[str, Any]) -> None:
    console = terminal(soft_wrap=True)
    if not book["messages"]:
        console.print(Text(f"this run has no conversation (agent {book['agent']})"))
        return
    console.print(Text(f"agent {book['agent']}: {cost_text(book['cost'])}", style="bold"))
    for about in book["rounds"]:
        number = about["round"]
        console.print(Text(f"\n── {f'round {number}' if number else 'before the first round'} ──", style="bold"))
        for message in book["messages"]:
            if message["round"] == number:
                for line in _lines(message):
                    console.print(line)
        if about["evaluations"]:
            console.print(Text(f"search    {counted(about['evaluations'])}; best so far {about['speedup']:.2f}x"))


def _lines(message: Mapping[str, Any]) -> Iterator[Text]:
    kind = Kind(message["kind"])
    yield Text(f"{message['role']:<9} {_what(kind, message)}", style=f"bold {_STYLES[kind]}".strip())
    for line in map(
        printable, _body(kind, message["text"]).strip().expandtabs(4).splitlines()
    ):  # a model's words are not for the terminal to obey
        for piece in textwrap.wrap(line, _WIDTH, drop_whitespace=False, replace_whitespace=False) or [""]:
            yield Text(_INDENT + piece, style=_STYLES[kind])


def _body(kind: Kind, text: str) -> str:
    match kind:
        case Kind.PROMPT:
            return _summary(text)
        case Kind.REPLY:
            return _told(text)
        case Kind.TOOL if (more := len(lines := text.strip().splitlines()) - _MOST_SEEN) > 1:
            return "\n".join([*lines[:_MOST_SEEN], f"… and {more} more lines, in --json"])
        case _:
            return text


def _what(kind: Kind, message: Mapping[str, Any]) -> str:
    model = message["model"] or ""
    if kind is Kind.REPLY:
        price = f", ${message['usd']:.4f}" if message["usd"] is not None else ""
        tokens = f"{message['input_tokens']:,} + {message['output_tokens']:,} tokens"
        return f"{model} answers after {message['seconds']:.1f} s, {tokens}{price}"
    said = {
        Kind.PROMPT: f"asks {model} ({len(message['text']):,} characters)",
        Kind.PROBLEM: "the answer was rejected",
        Kind.FAULT: f"{model} could not be asked",
        Kind.DECISION: "decides",
        Kind.TOOL: f"{model} looks",
        Kind.TRIAL: "trial of a form",
    }
    return said[kind]


def _summary(prompt: str) -> str:
    """Its headings: the whole text is in --json."""
    return " · ".join(line.lstrip("# ") for line in prompt.splitlines() if line.startswith(("# ", "## ")))


def _told(reply: str) -> str:
    """JSON as one reads it aloud; anything else as it is."""
    calls = [line.removeprefix(CALL) for line in reply.splitlines() if line.startswith(CALL)]
    if calls:
        return "\n".join(line for call in calls for line in _called(call))
    try:
        found = json.loads(reply)
    except ValueError:
        return reply
    return "\n".join(_spoken(found)) if isinstance(found, dict) else reply


def _called(call: str) -> Iterator[str]:
    """What it wants to try or look at; what came of it is a message of its own."""
    try:
        asked = json.loads(call)
        given = json.loads(asked["arguments"])
    except (ValueError, KeyError, TypeError):
        yield call[:_WIDTH]
        return
    if not isinstance(given, dict):
        given = {}
    if isinstance(given.get("form"), dict):  # wrapped as in an answer
        inner = given.pop("form")
        given |= inner
    if "source" in given:
        yield f"tries: {given.pop('hypothesis', None) or 'a form'}"
        yield from (f"  {line}" for line in _spoken(given))
    else:
        yield f"asks for {asked['tool']} " + ", ".join(f"{name} {_plain(value)}" for name, value in given.items())


def _spoken(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{name}:"
            yield from (f"  | {line}" for line in value.rstrip().splitlines())
        elif isinstance(value, list) and any(isinstance(entry, dict) and entry.get("source") for entry in value):
            for entry in value:
                yield f"{name}:"
                yield from (f"  {line}" for line in (_spoken(entry) if isinstance(entry, dict) else [_plain(entry)]))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{name}:"
            yield from (
                "  - " + ", ".join(f"{k}: {_plain(v)}" for k, v in entry.items()) for entry in value if isinstance(entry, dict)
            )
        elif isinstance(value, dict) and isinstance(value.get("source"), str):
            yield f"{name}:"
            yield from (f"  {line}" for line in _spoken(value))
        elif value not in (None, "", [], {}):
            yield f"{name}: {_plain(value)}"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
