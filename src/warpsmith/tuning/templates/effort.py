"""How much is tried before a template counts as made, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from warpsmith.refactor.base import Pass
from warpsmith.refactor.drafting.draft import Draft


@dataclass(frozen=True, slots=True)
class Effort:
    """So many `combinations` of all parameters are tried together in the end, and each value that was not tried before.

    With 0 neither is: who verifies every configuration that is evaluated has no need of it, and it takes 30 % of the time.
    With `proved_only` nothing enters the template that a pass conjectured. After `seconds` no
    further pass is begun, as soon as one has applied that is not `needed`; those that are go on.
    """

    combinations: int = 16
    seconds: float | None = None
    needed: frozenset[str] = frozenset()
    proved_only: bool = False

    def leaves_out(self, transform: Pass, draft: Draft, elapsed_s: float) -> bool:
        if self.seconds is None or elapsed_s < self.seconds or transform.name in self.needed:
            return False
        return any(done.applied and done.name not in self.needed for done in draft.applications)
