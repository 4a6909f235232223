"""Instructions for agents, shipped with the package: SKILL.md for one with a user, program.md for one that works alone."""

from __future__ import annotations

from pathlib import Path


def skill_text() -> str:
    """The workflow, the rules of honesty and the pitfalls, with the tools' names."""
    return _text("SKILL.md")


def program_text() -> str:
    """A loop to follow alone: set-up, rounds, when to stop, what never to do."""
    return _text("program.md")


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
