"""The transcript of a run: every question to a model, its answer, rejections, and decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """The role that speaks or is addressed."""

    ANALYST = "analyst"
    PLANNER = "planner"
    TEMPLATER = "templater"
    TESTER = "tester"
    AUTHOR = "author"  # of whole rewrites, in direct mode


class Kind(StrEnum):
    PROMPT = "prompt"
    REPLY = "reply"
    PROBLEM = "problem"  # what was wrong with a reply, as it went back to the model
    FAULT = "fault"  # the model could not be asked: rate limit, time-out, a cut connection
    DECISION = "decision"  # what the run did with it
    TOOL = "tool"  # what the model asked to look at, and what it was shown
    TRIAL = "trial"  # a form that it had tried, and what came of it


TOLD_ONCE = "# Told once"
"""Heads what stands at the beginning of every request, in the record below the first question."""

CALL = "[call] "
"""Begins a line of a reply that asks for a look or a trial: the tool and its arguments as JSON."""


@dataclass(frozen=True, slots=True)
class Message:
    """`usd` is None where the model has no known price; tokens are what the server counted, or an estimate."""

    role: Role
    kind: Kind
    text: str
    round: int = 0  # 0: before the first
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
