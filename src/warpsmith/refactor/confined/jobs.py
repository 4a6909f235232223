"""The jobs of the reading worker. What only the user and we have a hand in (the kernel, a pass) travels to it as a pickle, beside
the header; whatever comes back is validated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from warpsmith.core.hardware import Language
from warpsmith.isolation.jobs import Job
from warpsmith.refactor.base import Answer, Declined, Rewrite, Variant
from warpsmith.refactor.proposal import Proposal
from warpsmith.source.lane_strides import Access


@dataclass(frozen=True, slots=True)
class CheckForm(Job[str | None]):
    """With the kernel and the device's limits. The answer is what is wrong with the form."""

    proposal: Proposal
    is_whole_template: bool = False
    reply: ClassVar[Any] = str | None


@dataclass(frozen=True, slots=True)
class LaneAccesses(Job[tuple[Access, ...]]):
    """How far apart neighbouring threads touch memory in a form; nothing of one that cannot be read."""

    text: str
    language: Language
    entry: str
    parameters: tuple[str, ...]
    reply: ClassVar[Any] = tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class LookAt(Job[Answer]):
    """With the draft and the pass. What the pass makes of one form."""

    variant: Variant
    reply: ClassVar[Any] = Rewrite | Declined
