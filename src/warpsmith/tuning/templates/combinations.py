"""Tries passes together: a sample of all configurations, since values that are right alone may not be right with each other.

A configuration that fails is reduced to what it takes to fail. That combination is excluded, with what was seen as the reason;
when the same parameters fail together again, they may no longer leave their defaults together. One that takes too long to compile
shows nothing, for the machine may be busy: it stays, as one that was not tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.base import Rule
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.space.covering import covering_sample
from warpsmith.tuning.templates.probes import Lab, Probe, ProbeProblem

_FAILURES_AT_MOST = 12  # after which every combination that failed is excluded as widely as it can be


@dataclass
class Combinations:
    """`count` configurations are drawn, with as many pairs of values as possible; what a failure takes away is replaced.

    `right` are those that were found to be.
    """

    lab: Lab
    count: int
    rng: np.random.Generator
    right: list[Configuration] = field(default_factory=list)
    _failed: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _drawn: list[Configuration] = field(default_factory=list)
    _slow: set[Configuration] = field(default_factory=set)

    def settled(self, draft: Draft) -> Draft:
        """The draft without the combinations that were seen to fail."""
        for attempt in range(_FAILURES_AT_MOST):
            probe = Probe(combined(draft), self.lab)
            found = self._failure(probe)
            if found is None:
                break
            draft = self._excluded(draft, probe, *found, widely=attempt == _FAILURES_AT_MOST - 1)
        return draft

    def _failure(self, probe: Probe) -> tuple[Configuration, ProbeProblem] | None:
        """A configuration that fails, reduced to the parameters it takes."""
        kept = [configuration for configuration in self._drawn if configuration in probe.space]
        fresh = covering_sample(probe.space, self.count - len(kept), self.rng)
        self._drawn = list(dict.fromkeys([*kept, *fresh]))
        waiting = [c for c in self._drawn if c not in self._slow and c not in self.right]
        probe.prefetch(waiting)
        for configuration in waiting:
            problem = probe.problem(configuration)
            if problem is None:
                self.right.append(configuration)
            elif problem.is_slow:
                self._slow.add(configuration)
            else:
                return self._reduced(probe, configuration, problem)
        return None

    def _reduced(self, probe: Probe, configuration: Configuration, problem: ProbeProblem) -> tuple[Configuration, ProbeProblem]:
        default = probe.space.default
        for name in away(configuration, default):
            simpler = Configuration.of({**configuration, name: default[name]})
            if simpler in probe.space and (seen := probe.problem(simpler)) is not None and not seen.is_slow:
                configuration, problem = simpler, seen
        return configuration, problem

    def _excluded(self, draft: Draft, probe: Probe, failing: Configuration, problem: ProbeProblem, *, widely: bool) -> Draft:
        default = probe.space.default
        names = tuple(away(failing, default))
        self._failed[names] += 1
        if len(names) == 1:
            value = failing[names[0]]
            assert isinstance(value, int)
            return _noted(draft.without(names[0], value), names, f"{names[0]}={value} {problem}")
        shown = " ".join(f"{name}={failing[name]}" for name in names)
        rules = [Rule(" or ".join(f"{name} != {failing[name]}" for name in names), f"{shown} {problem}")]
        if widely or self._failed[names] > 1:
            together = Rule(
                " or ".join(f"{name} == {default[name]}" for name in names), f"the values fail in combination: {shown} {problem}"
            )
            rules = [together]
        return _noted(replace(draft, exclusions=(*draft.exclusions, *rules)), names, f"{shown} {problem}")


def away(configuration: Configuration, default: Configuration) -> list[str]:
    """The parameters that are not at their defaults."""
    return [name for name, value in configuration.items() if value != default[name]]


def _noted(draft: Draft, names: Sequence[str], note: str) -> Draft:
    """The note goes to the pass that came last among those behind the parameters."""
    behind = {draft.origins[name] for name in names if name in draft.origins}
    last = max((i for i, a in enumerate(draft.applications) if a.name in behind), default=None)
    if last is None:
        return draft
    return draft.noted(draft.applications[last].name, [f"excluded: {note}"])
