"""`show RUN --transcript` for people: round by round, who said what, what it cost, and what came of it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from warpsmith.cli.terminal import terminal
from warpsmith.core.plain_text import printable
from warpsmith.record.transcript import Kind
from warpsmith.report.wording import cost_text, counted

_STYLES = {Kind.PROMPT: "dim", Kind.REPLY: "", Kind.PROBLEM: "yellow", Kind.FAULT: "red", Kind.DECISION: "green"}
_INDENT = "    "
_WIDTH = 116


def render_transcript(book: Mapping[str, Any]) -> None:
    console = terminal(soft_wrap=True)
    if not book["messages"]:
        console.print(Text(f"nothing was said in this run (agent {book['agent']})"))
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
    body = _summary(message["text"]) if kind is Kind.PROMPT else _told(message["text"]) if kind is Kind.REPLY else message["text"]
    for line in map(printable, body.strip().expandtabs(4).splitlines()):  # a model's words are not for the terminal to obey
        for piece in textwrap.wrap(line, _WIDTH, drop_whitespace=False, replace_whitespace=False) or [""]:
            yield Text(_INDENT + piece, style=_STYLES[kind])


def _what(kind: Kind, message: Mapping[str, Any]) -> str:
    model = message["model"] or ""
    match kind:
        case Kind.PROMPT:
            return f"asks {model} ({len(message['text']):,} characters)"
        case Kind.REPLY:
            price = f", ${message['usd']:.4f}" if message["usd"] is not None else ""
            tokens = f"{message['input_tokens']:,} + {message['output_tokens']:,} tokens"
            return f"{model} answers after {message['seconds']:.1f} s, {tokens}{price}"
        case Kind.PROBLEM:
            return "back to the model: this cannot be used"
        case Kind.FAULT:
            return f"{model} could not be asked"
        case Kind.DECISION:
            return "decides"


def _summary(prompt: str) -> str:
    """Its headings: the whole text is in --json."""
    return " · ".join(line.lstrip("# ") for line in prompt.splitlines() if line.startswith(("# ", "## ")))


def _told(reply: str) -> str:
    """JSON as one reads it aloud; anything else as it is."""
    try:
        found = json.loads(reply)
    except ValueError:
        return reply
    return "\n".join(_spoken(found)) if isinstance(found, dict) else reply


def _spoken(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{name}:"
            yield from (f"  | {line}" for line in value.rstrip().splitlines())
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{name}:"
            yield from (
                "  - " + ", ".join(f"{k}: {_plain(v)}" for k, v in entry.items()) for entry in value if isinstance(entry, dict)
            )
        elif value not in (None, "", [], {}):
            yield f"{name}: {_plain(value)}"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
