"""A run's conversation as a file: questions and answers, one JSON object per line. `--agent replay:FILE` reads it.

The first line says what the conversation was about; each further one is a question with its answers, in the order in which they
were asked: the last answer was taken, those before it looked, tried, or had to be mended. Files may be joined: each first line
begins the conversation of another run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.record.run import RunRecord
from warpsmith.record.transcript import Kind, Message, Role

FORMAT = "warpsmith_conversation"
VERSION = 1
_LARGEST_FILE = 64 << 20
_COUNTED = ("input_tokens", "output_tokens", "usd", "seconds")


@dataclass(slots=True)
class Question:
    """What was asked, and what was answered to it. `asked` begins with a heading that says what is wanted."""

    role: Role
    round: int
    asked: str
    answers: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """`about` is the run: agent, kernel, device, seed, and what it might spend."""

    about: Mapping[str, Any]
    questions: tuple[Question, ...]


def questions(messages: Iterable[Message]) -> list[Question]:
    """In the order in which they were asked; a question that was never answered is left out."""
    found: list[Question] = []
    for message in messages:
        if message.kind is Kind.PROMPT:
            found.append(Question(message.role, message.round, message.text))
        elif message.kind is Kind.REPLY:
            asked = next((q for q in reversed(found) if (q.role, q.round) == (message.role, message.round)), None)
            if asked is not None:
                asked.answers.append(message)
    return [question for question in found if question.answers]


def written_conversation(record: RunRecord, messages: Iterable[Message]) -> str:
    """The lines of a run's conversation. Raises InputError where no model was asked."""
    asked = questions(messages)
    header = record.header
    if not asked:
        raise InputError(f"no model was used in {record.run} (agent {header.agent})", hint="tune with --agent PROVIDER:MODEL")
    about = {
        FORMAT: VERSION,
        "agent": header.agent,
        "kernel": header.kernel,
        "device": header.device_info.get("description", header.device),
        "mode": header.settings.get("mode"),
        "seed": header.seed,
        "evaluations": header.settings.get("evaluations"),
        "rounds": header.settings.get("rounds"),
    }
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in (about, *map(_entry, asked)))


def _entry(question: Question) -> dict[str, Any]:
    answers = [{"text": a.text, **{name: getattr(a, name) for name in _COUNTED}} for a in question.answers]
    return {"role": question.role, "round": question.round, "asked": question.asked, "answers": answers}


def read_conversations(path: Path) -> tuple[StoredConversation, ...]:
    """Raises InputError for what is no such file, with the line."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path} has more than {_LARGEST_FILE >> 20} MB: too large for a recorded conversation")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a recorded conversation: {error}", hint=_HINT) from None
    found: list[tuple[Mapping[str, Any], list[Question]]] = []
    for number, entry in _entries(path, lines):
        try:
            if FORMAT in entry:
                if entry[FORMAT] != VERSION:
                    raise ValueError(f"version {entry[FORMAT]} of the format; this Warpsmith reads version {VERSION}")  # noqa: TRY301
                found.append((entry, []))
            else:
                found[-1][1].append(_question(entry))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{path}:{number}: not a line of a recorded conversation: {_said(error)}", hint=_HINT) from None
    if not any(asked for _, asked in found):
        raise InputError(f"{path} has no answered question", hint=_HINT)
    return tuple(StoredConversation(about, tuple(asked)) for about, asked in found)


_HINT = "warpsmith show RUN --conversation > FILE writes one"


def _entries(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: not JSON: {error}", hint=_HINT) from None
        if not isinstance(entry, dict):
            raise InputError(f"{path}:{number}: expected an object", hint=_HINT)
        yield number, entry


def _question(entry: Mapping[str, Any]) -> Question:
    role, round_ = Role(entry["role"]), int(entry["round"])
    answers = [_answer(role, round_, answer) for answer in entry["answers"]]
    return Question(role, round_, str(entry["asked"]), answers)


def _answer(role: Role, round_: int, entry: Mapping[str, Any]) -> Message:
    usd, seconds = (None if entry.get(name) is None else float(entry[name]) for name in ("usd", "seconds"))
    if not all(number is None or (math.isfinite(number) and number >= 0) for number in (usd, seconds)):
        raise ValueError(f"usd {usd}, seconds {seconds}: expected numbers from 0 on")
    return Message(
        role,
        Kind.REPLY,
        str(entry["text"]),
        round_,
        input_tokens=max(0, int(entry.get("input_tokens", 0))),
        output_tokens=max(0, int(entry.get("output_tokens", 0))),
        usd=usd,
        seconds=seconds or 0.0,
    )


def _said(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
