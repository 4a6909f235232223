"""One thing that a form may not have unless the original has it, too."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """`key` says what exactly it is about: the original has it where the same words with the same key are among its own."""

    problem: str
    key: str
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.problem if self.line is None else f"line {self.line}: {self.problem}"
