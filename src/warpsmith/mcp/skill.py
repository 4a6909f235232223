"""SKILL.md, which teaches an agent the workflow; it ships with the package."""

from __future__ import annotations

from pathlib import Path


def skill_text() -> str:
    """The workflow, the rules of honesty and the pitfalls, with the tools' names."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")
