"""Applies passes to a draft one after the other and keeps of each what the device finds right.

Every value and every form is tried, but not all at once. With a pass come its forms, and one value of each parameter: what is
wrong with a pass mostly shows there, and later passes should not build on it. The other values are tried when all passes are
applied, many of them in one configuration. Values that no configuration can have yet wait as well, since a later pass may bring a
form that allows them; what is still impossible in the end is left out then.

While compilers are busy, the passes that follow are thought through as if nothing were dropped, and what they will ask for is
asked. Where something is dropped after all, that was in vain: such steps are made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.application import apply_pass
from warpsmith.refactor.base import Pass, Stage
from warpsmith.refactor.combine import combined
from warpsmith.refactor.draft import Branch, Draft
from warpsmith.refactor.values import nearest_with, with_possible_values
from warpsmith.tuning.combinations import Combinations, away
from warpsmith.tuning.probes import Lab, Probe

_STEPS_AHEAD = 2  # passes that apply: what is asked for them is in vain when something is dropped before
_IMPOSSIBLE = "no workload and no limit of the device allows another value"


@dataclass(frozen=True, slots=True)
class _Untried:
    """A value, and the configuration that has it with the least else changed."""

    name: str
    value: int
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class _Step:
    """What a pass makes of a draft, and what tries that; nothing does if it does not apply."""

    before: Draft
    after: Draft
    probe: Probe | None

    @property
    def new(self) -> list[str]:
        return [name for name in self.after.origins if name not in self.before.origins]


class Trial:
    def __init__(self, draft: Draft, lab: Lab) -> None:
        self._draft = draft
        self._lab = lab
        self._tried: dict[tuple[str, int], Configuration] = {}
        self._foreseen: dict[str, _Step] = {}

    def apply(self, transform: Pass, coming: Iterable[Pass] = ()) -> None:
        """`coming` are the passes that follow: they are thought through while compilers are busy with this one."""
        step = self._foreseen.pop(transform.name, None)
        if step is None or step.before != self._draft:
            self._forget()
            step = self._step(self._draft, transform)
        before, after, probe, new = step.before, step.after, step.probe, step.new
        if probe is None:
            self._draft = after
            return
        difference = probe.difference()
        if difference is not None:
            self._draft = before.not_applied(transform.name, f"it changes the kernel at its defaults: {difference}")
            return
        self._draft = after
        self._foresee(coming, probe)
        first = _first_of_each(after, self._untried(after, probe, new))
        dropped = self._drop_values(probe, first)
        if dropped:  # then others are doubtful, too
            dropped += self._drop_values(probe, self._untried(self._draft, probe, new))
        dropped += self._drop_forms(probe, before)
        if transform.stage is not Stage.RESTRUCTURE:  # what another form is good for may show with later passes only
            dropped += self._drop_idle(probe, new)
        if any(name in self._draft.origins for name in new):
            self._draft = self._draft.noted(transform.name, dropped)
        else:
            self._draft = before.not_applied(transform.name, "; ".join(dropped))

    def settled(self, combinations: int) -> Draft:
        """The draft with what only all passes together tell: possible values, so many combinations, and values not tried yet."""
        self._draft = with_possible_values(self._draft).tidied(_IMPOSSIBLE)
        if combinations and self._draft.origins:
            together = Combinations(self._lab, combinations, np.random.default_rng(0))
            self._draft = together.settled(self._draft)
            self._tried |= {(n, v): found for found in together.right for n, v in found.items() if isinstance(v, int)}
        if self._draft.origins:
            probe = Probe(combined(self._draft), self._lab)
            dropped = self._drop_values(probe, self._untried(self._draft, probe, self._draft.origins))
            self._draft = self._draft.tidied("; ".join(dropped))
        return self._draft.tidied("nothing it made is right here")

    def _step(self, before: Draft, transform: Pass) -> _Step:
        """What is to be tried of it is asked for."""
        after = apply_pass(before, transform)
        if not after.applications[-1].applied:
            return _Step(before, after, None)
        probe = Probe(combined(after), self._lab)
        step = _Step(before, after, probe)
        probe.prefetch_difference()
        first = _first_of_each(after, self._untried(after, probe, step.new))
        probe.prefetch(untried.configuration for untried in first)
        probe.prefetch(configuration for _, configuration in _new_forms(probe, before, after))
        if transform.stage is not Stage.RESTRUCTURE:  # what idle parameters are told by
            probe.prefetch(plain for each in first if (plain := _plain(probe, each.configuration, each.name)) in probe.space)
        return step

    def _foresee(self, coming: Iterable[Pass], probe: Probe) -> None:
        """The next steps, should nothing of this one be dropped, for as long as the probe waits for compilers."""
        draft, ahead = self._draft, 0
        for transform in coming:
            if ahead == _STEPS_AHEAD or not probe.is_waiting:
                return
            known = self._foreseen.get(transform.name)
            if known is None:
                self._foreseen[transform.name] = known = self._step(draft, transform)
            draft = known.after
            ahead += known.probe is not None

    def _forget(self) -> None:
        """What was foreseen came otherwise: compilers are not kept busy with it."""
        for step in self._foreseen.values():
            if step.probe is not None:
                step.probe.withdraw()
        self._foreseen.clear()

    def _untried(self, draft: Draft, probe: Probe, names: Iterable[str]) -> list[_Untried]:
        return [
            _Untried(p.name, value, configuration)
            for p in probe.found.parameters
            if p.name in names and p.name in draft.origins
            for value in p.values
            if value != p.default and (p.name, value) not in self._tried
            if (configuration := nearest_with(probe.space, p.name, value)) is not None
        ]

    def _drop_values(self, probe: Probe, waiting: Sequence[_Untried]) -> list[str]:
        """Try them; what was dropped and why."""
        probe.prefetch(untried.configuration for untried in waiting)
        found: dict[tuple[str, str], list[str]] = {}  # by parameter and kind of problem: the first in full, others by value
        for untried in waiting:
            name, value = untried.name, untried.value
            self._tried[name, value] = untried.configuration
            if (problem := probe.problem(untried.configuration)) is not None:
                alike = found.setdefault((name, str(problem).partition(":")[0]), [])
                alike.append(str(value) if alike else f"{name}={value} {problem}")
                self._draft = self._draft.without(name, value)
        return [first + (f" (and so for {', '.join(others)})" if others else "") for first, *others in found.values()]

    def _drop_idle(self, probe: Probe, names: Iterable[str]) -> list[str]:
        """Leave out parameters that make no difference on this device, whatever they may do on another."""
        dropped = []
        idle = [name for name in names if self._is_idle(probe, name)]
        probe.prefetch(untried.configuration for untried in self._untried(self._draft, probe, idle))
        for name in idle:
            dropped += self._drop_values(probe, self._untried(self._draft, probe, [name]))
            if name in self._draft.origins and self._is_idle(probe, name):
                dropped.append(f"{name} makes no difference on {self._lab.info.name}: the same code for every value")
                for value in self._tried_of(name):
                    self._draft = self._draft.without(name, value)
        return dropped

    def _is_idle(self, probe: Probe, name: str) -> bool:
        """Whether every value that was tried is the same as the default."""
        pairs = [(found, _plain(probe, found, name)) for found in self._tried_of(name).values()]
        probe.prefetch(plain for _, plain in pairs if plain in probe.space)
        return bool(pairs) and all(plain in probe.space and probe.same_launch(found, plain) for found, plain in pairs)

    def _tried_of(self, name: str) -> dict[int, Configuration]:
        return {value: found for (of, value), found in self._tried.items() if of == name}

    def _drop_forms(self, probe: Probe, before: Draft) -> list[str]:
        """Try every new form as a whole: one that is right in the original may not be in what an earlier pass made of it."""
        dropped = []
        for branch, configuration in _new_forms(probe, before, self._draft):
            if (problem := probe.problem(configuration)) is not None:
                shown = " ".join(f"{name}={configuration[name]}" for name in branch.guard)
                dropped.append(f"{shown} {problem}")
                self._draft = self._draft.without_form(branch.guard)
        return dropped


def _first_of_each(draft: Draft, untried: Sequence[_Untried]) -> list[_Untried]:
    """One for each parameter, and for each form that it selects."""
    forms = {(name, v): key for name, groups in draft.groups.items() for key, vs in groups.items() for v in vs}
    found: dict[tuple[str, int | None], _Untried] = {}
    for each in untried:
        found.setdefault((each.name, forms.get((each.name, each.value))), each)
    return list(found.values())


def _new_forms(probe: Probe, before: Draft, after: Draft) -> list[tuple[Branch, Configuration]]:
    old = [branch.guard for branch in before.branches]
    found: list[tuple[Branch, Configuration]] = []
    for branch in after.branches[1:]:
        guard = {name: after.groups[name][key][0] for name, key in branch.guard.items()}
        configuration = Configuration.of({**probe.space.default, **guard})
        # Of one parameter, it was tried as a value.
        if branch.guard not in old and len(away(configuration, probe.space.default)) > 1 and configuration in probe.space:
            found.append((branch, configuration))
    return found


def _plain(probe: Probe, configuration: Configuration, name: str) -> Configuration:
    """The same, but for one parameter at its default."""
    return Configuration.of({**configuration, name: probe.space.default[name]})
