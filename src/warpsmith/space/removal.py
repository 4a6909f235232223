"""The configurations that one rule alone removes from the Cartesian product."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from warpsmith.space.automaton import automaton_of
from warpsmith.space.problem import SpaceProblem
from warpsmith.space.rules import Rule

_SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Removal:
    """How many configurations of the whole product one rule forbids by itself; `estimate` when they were sampled, not counted."""

    constraint: str
    reason: str
    count: int
    estimate: bool


def removal_of(problem: SpaceProblem, rule: Rule) -> Removal:
    """Counted in the rule's automaton, however many configurations there are; sampled where it has none."""
    everything = prod(problem.sizes)
    own = sorted(problem.scope(rule))
    if not own:
        return Removal(rule.text, rule.reason, 0 if problem.always(rule) else everything, estimate=False)
    automaton = automaton_of(problem, (rule,), own)
    if automaton is not None:
        # The rule says the same for every value of the parameters it does not use.
        whole = prod(problem.sizes[i] for i in own)
        return Removal(rule.text, rule.reason, (whole - automaton.allowed) * (everything // whole), estimate=False)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(problem.sizes[i], size=_SAMPLES) for i in own])
    forbidden = int(np.count_nonzero(~problem.allowed(rule, own, rows)))
    return Removal(rule.text, rule.reason, forbidden * everything // _SAMPLES, estimate=True)
