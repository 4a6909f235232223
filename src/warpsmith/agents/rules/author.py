"""Rewrites whole kernels without a model, as an agent in direct mode.

The moves are those of the passes, as the device confirmed them; a rewrite is one point of what they make, with every choice
fixed in its text. The rule, all of it:

* The first rewrite, and one in seven after it, starts afresh: three or four moves at once on the original.
* Every other one changes the best kernel so far by one move, three times in ten by two.
* A move is a pass, drawn with a weight of 0.2 plus that of the weightiest finding that asks for it (`analyst`), and values for
  its parameters, drawn evenly. Where these cannot go with the rest of the kernel, the rest changes as little as it must.
* What was measured faster than all before becomes the best kernel; anything else is forgotten. Nothing is written twice.

It learns from every measurement, but has no model of which values would be good: that is what a search brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from warpsmith.agents.rules import analyst
from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded
from warpsmith.core.fingerprint import fingerprint
from warpsmith.refactor.base import Rule, Tunable, Variant
from warpsmith.refactor.constants import with_constant
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.drafting.values import space_of_refactored
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.registry import load_passes
from warpsmith.tuning.agent.planning import Attempt, Desk, Facts
from warpsmith.tuning.order import kernel_fingerprint

_FRESH_START = 1 / 7
_TWO_MOVES = 0.3
_MOVES_OF_A_FRESH_START = (3, 4)
_LEAST_WEIGHT = 0.2
_DRAWS = 24
_LISTED_AT_MOST = 200_000
_SAMPLE = 20_000


def rewrite(facts: Facts, attempts: Sequence[Attempt], desk: Desk) -> Proposal | None:
    """The next rewrite; None when every point was written. A function of what it is told: a resumed run goes the same way."""
    moves = _moves(facts, fresh=not attempts and desk.seconds_left() is not None)
    return _Author(moves, facts, attempts, np.random.default_rng([desk.seed, len(attempts)])).proposal()


class Moves:
    """All that the passes can make of a kernel, as the device confirmed it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.found = combined(draft)
        self.space = space_of_refactored(self.found)
        self.concerns = {p.name: p.concerns for p in load_passes()}

    @cached_property
    def by_pass(self) -> dict[str, tuple[Tunable, ...]]:
        """The passes with the parameters that each of them brought."""
        found: dict[str, tuple[Tunable, ...]] = {}
        for parameter in self.found.parameters:
            origin = self.draft.origins[parameter.name]
            found[origin] = (*found.get(origin, ()), parameter)
        return found

    @cached_property
    def rows(self) -> Array:
        """Configurations to look for a near one in: all, or a sample of a large space."""
        if self.space.size <= _LISTED_AT_MOST:
            return self.space.rows
        return self.space.encoded(self.space.sample(_SAMPLE, np.random.default_rng(0)))

    def written(self, configuration: Configuration) -> Variant:
        """The form that the configuration selects, every parameter replaced by its value."""
        groups = self.draft.groups
        chosen = next(
            branch.variant
            for branch in self.draft.branches
            if all(configuration[name] in groups[name][key] for name, key in branch.guard.items())
        )
        return reduce(lambda form, pair: with_constant(form, pair[0], int(pair[1])), configuration.pairs, chosen)

    def rules(self, configuration: Configuration) -> tuple[Rule, ...]:
        """What the form still asks of sizes and the device: elsewhere it would be wrong."""
        texts = {folded(Expression.parse(rule.expression), configuration): rule.reason for rule in self.found.rules}
        return tuple(Rule(text, reason) for text, reason in texts.items() if Expression.parse(text).names)


_made: dict[str, Moves] = {}  # by kernel and device: making them takes as long as dozens of evaluations


def _moves(facts: Facts, *, fresh: bool) -> Moves:
    """Kept for other runs of this process on the same kernel; made anew by one whose time is limited, which must count it."""
    kernel = facts.kernel
    key = fingerprint(str(kernel.path), kernel_fingerprint(kernel), facts.device, facts.limits.names())
    if fresh or key not in _made:
        assert facts.moves is not None, "only direct mode asks for rewrites"
        _made[key] = Moves(facts.moves())
    return _made[key]


@dataclass(frozen=True, slots=True)
class _Author:
    moves: Moves
    facts: Facts
    attempts: Sequence[Attempt]
    rng: np.random.Generator

    def proposal(self) -> Proposal | None:
        space = self.moves.space
        tried = {space.default, *(_configuration(a.proposal) for a in self.attempts)}
        if len(tried) >= space.size:
            return None
        fresh = not self.attempts or self.rng.random() < _FRESH_START
        start = space.default if fresh else self._best()
        for _ in range(_DRAWS):
            passes = self._passes(self._count(fresh=fresh))
            point = self._nearest(start, self._values(passes, start), tried)
            if point is not None:
                return self._proposal(point, start, passes)
        # Every move from here was made: whatever was not written yet.
        for number in space.sample(len(tried) + 1, self.rng):
            if space[number] not in tried:
                return self._proposal(space[number], space.default, ())
        return None

    def _best(self) -> Configuration:
        scores = {_configuration(a.proposal): a.evaluation.score for a in self.attempts}
        # What an earlier part of a resumed run wrote may be none of today's moves.
        faster = {p: score for p, score in scores.items() if score is not None and score < 1 and p in self.moves.space}
        return min(faster, key=lambda point: faster[point]) if faster else self.moves.space.default

    def _count(self, *, fresh: bool) -> int:
        if fresh:
            return int(self.rng.choice(_MOVES_OF_A_FRESH_START))
        return 2 if self.rng.random() < _TWO_MOVES else 1

    def _passes(self, count: int) -> tuple[str, ...]:
        findings = analyst.findings(self.facts)
        weights = {
            name: _LEAST_WEIGHT + max((f.weight for f in findings if f.concern in self.moves.concerns[name]), default=0.0)
            for name in self.moves.by_pass
        }
        shares = np.array(list(weights.values())) / sum(weights.values())
        drawn = self.rng.choice(len(weights), size=min(count, len(weights)), replace=False, p=shares)
        return tuple(list(weights)[number] for number in drawn)

    def _values(self, passes: Sequence[str], start: Configuration) -> dict[str, int]:
        """New ones for all parameters of the passes; at least one is another than before."""
        parameters = [p for name in passes for p in self.moves.by_pass[name]]
        while True:
            drawn = {p.name: int(self.rng.choice(p.values)) for p in parameters}
            if any(value != start[name] for name, value in drawn.items()):
                return drawn

    def _nearest(self, start: Configuration, values: Mapping[str, int], tried: set[Configuration]) -> Configuration | None:
        """The feasible point with these values that differs least from where it starts; None if it was written already."""
        space = self.moves.space
        plain = Configuration.of({**start, **values})
        if plain not in space:
            rows = self.moves.rows
            for at, parameter in enumerate(space.parameters):
                if parameter.name in values:
                    rows = rows[rows[:, at] == parameter.values.index(values[parameter.name])]
            if not len(rows):
                return None
            changes = np.count_nonzero(rows != space.encode(start), axis=1)
            plain = space.decode(rows[self.rng.choice(np.flatnonzero(changes == changes.min()))])
        return None if plain in tried else plain

    def _proposal(self, point: Configuration, start: Configuration, passes: Sequence[str]) -> Proposal:
        form = self.moves.written(point)
        meanings = {p.name: p.meaning for p in self.moves.found.parameters}
        changed = " ".join(f"{name}={value}" for name, value in point.items() if value != start[name])
        base = "the original" if start == self.moves.space.default else "the best so far"
        return Proposal(
            number=len(self.attempts) + 1,
            source=form.text,
            grid=tuple(map(_tidied, form.grid)),
            block=tuple(map(_tidied, form.block)),
            shared=_tidied(form.shared),
            tunables=tuple(Tunable(name, (int(value),), int(value), meanings[name]) for name, value in point.items()),
            rules=self.moves.rules(point),
            hypothesis=f"{base} with {' and '.join(passes) or 'something else'}: {changed}",
            entry=form.entry if form.entry != self.facts.kernel.entry else "",
            by_passes=True,
        )


def _tidied(expression: str) -> str:
    """With numbers computed that parameters left behind: people read it, where it ships."""
    return folded(Expression.parse(expression), {})


def _configuration(proposal: Proposal) -> Configuration:
    """A choice with one value is a choice that was made."""
    return Configuration(tuple((t.name, t.default) for t in proposal.tunables))
