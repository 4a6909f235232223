"""All candidates, in the order of the table."""

from __future__ import annotations

from benchmarks.cheats import honest, host, hostile, kept, known, launches, less, memory, published
from benchmarks.cheats.candidate import Candidate

SUITE: tuple[Candidate, ...] = tuple(
    candidate
    for module in (kept, known, launches, memory, less, host, hostile, published, honest)
    for candidate in module.CANDIDATES
)


def chosen(text: str) -> tuple[Candidate, ...]:
    """Those whose family or name has the text in it."""
    return tuple(c for c in SUITE if text.lower() in f"{c.family}: {c.name}".lower())
