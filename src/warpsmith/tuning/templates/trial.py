"""Applies passes to a draft one after the other and keeps of each what the device finds right.

Every value and every form is tried, but not all at once. With a pass come its forms, and one value of each parameter: what is
wrong with a pass mostly shows there, and later passes should not build on it. The other values are tried when all passes are
applied, many of them in one configuration, or by the search that evaluates them. Values that no configuration can have yet wait
as well, since a later pass may bring a form that allows them; what is still impossible in the end is left out then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.base import Pass, Stage
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Branch, Draft
from warpsmith.refactor.drafting.values import nearest_with, with_possible_values
from warpsmith.tuning.templates.combinations import Combinations, away
from warpsmith.tuning.templates.probes import Lab, Probe

_IMPOSSIBLE = "no other value is feasible for any workload on this device"


@dataclass(frozen=True, slots=True)
class _Untried:
    """A value, and the configuration that has it with the least else changed."""

    name: str
    value: int
    configuration: Configuration


class PassTrial:
    def __init__(self, draft: Draft, lab: Lab, *, proved_only: bool = False) -> None:
        self.draft = draft
        self._lab = lab
        self._proved_only = proved_only
        self._tried: dict[tuple[str, int], Configuration] = {}
        self._foreseen: dict[str, tuple[Draft, Draft]] = {}

    def apply(self, transform: Pass, coming: Iterable[Pass] = ()) -> None:
        """`coming` are the passes that follow: they are thought through while compilers are busy with this one."""
        before, after = self.draft, self._applied(transform)
        if not after.applications[-1].applied:
            self.draft = after
            return
        probe = Probe(combined(after), self._lab)
        new = [name for name in after.origins if name not in before.origins]
        self.draft = after
        self._tried = {
            key: found for key, found in self._tried.items() if key[0] not in new
        }  # of another pass, which was dropped
        first = self._first_of_each(self._untried(probe, new))
        probe.prefetch(untried.configuration for untried in first)
        probe.prefetch(configuration for _, configuration in self._new_forms(probe, before))
        if transform.stage is not Stage.RESTRUCTURE:  # what idle parameters are told by
            probe.prefetch(plain for each in first if (plain := _plain(probe, each.configuration, each.name)) in probe.space)
        self._foresee(coming)
        difference = probe.difference()
        if difference is not None:
            self.draft = before.not_applied(transform.name, f"with default values it changes the kernel: {difference}")
            return
        dropped = self._drop_values(probe, first)
        if dropped:  # then others are doubtful, too
            self._drop_refuted(first)
            dropped += self._drop_values(probe, self._untried(probe, new))
        dropped += self._drop_forms(probe, before)
        dropped += self._drop_unseen(probe, new)
        if transform.stage is not Stage.RESTRUCTURE:  # what another form is good for may show with later passes only
            dropped += self._drop_idle(probe, new)
        if any(name in self.draft.origins for name in new):
            self.draft = self.draft.noted(transform.name, dropped)
        else:
            self.draft = before.not_applied(transform.name, "; ".join(dropped))

    def settled(self, combinations: int) -> Draft:
        """The draft with what only all passes together tell: possible values; so many combinations, and values not tried yet."""
        self.draft = with_possible_values(self.draft).tidied(_IMPOSSIBLE)
        if combinations and self.draft.origins:
            together = Combinations(self._lab, combinations, np.random.default_rng(0))
            self.draft = together.settled(self.draft)
            self._tried |= {(n, v): found for found in together.right for n, v in found.items() if isinstance(v, int)}
            probe = Probe(combined(self.draft), self._lab)
            dropped = self._drop_values(probe, self._untried(probe, self.draft.origins))
            self.draft = self.draft.tidied("; ".join(dropped))
        return self.draft.tidied("none of its values gives correct results here")

    def _applied(self, transform: Pass) -> Draft:
        before, after = self._foreseen.pop(transform.name, (None, None))
        return after if after is not None and before == self.draft else self._made(self.draft, transform)

    def _made(self, draft: Draft, transform: Pass) -> Draft:
        after = apply_pass(draft, transform)
        return after.proved() if self._proved_only else after

    def _foresee(self, coming: Iterable[Pass]) -> None:
        """What the passes up to the next that applies make of the draft, should nothing of it be dropped."""
        draft = self.draft
        for transform in coming:
            after = self._made(draft, transform)
            self._foreseen[transform.name] = (draft, after)
            if after.applications[-1].applied:
                break
            draft = after

    def _untried(self, probe: Probe, names: Iterable[str]) -> list[_Untried]:
        return [
            _Untried(p.name, value, configuration)
            for p in probe.found.parameters
            if p.name in names and p.name in self.draft.origins
            for value in p.values
            if value in self.draft.alternatives(p.name) and (p.name, value) not in self._tried
            if (configuration := nearest_with(probe.space, p.name, value)) is not None
        ]

    def _first_of_each(self, untried: Sequence[_Untried]) -> list[_Untried]:
        """One for each parameter, and for each form that it selects; of a conjecture's values the first and the last."""
        conjectured = self.draft.conjectures
        forms = {(name, v): key for name, groups in self.draft.groups.items() for key, vs in groups.items() for v in vs}
        found: dict[tuple[str, int | None], list[_Untried]] = {}
        for each in untried:
            found.setdefault((each.name, forms.get((each.name, each.value))), []).append(each)
        ends = (([some[0], some[-1]] if name in conjectured else [some[0]]) for (name, _), some in found.items())
        return list(dict.fromkeys(each for some in ends for each in some))

    def _drop_values(self, probe: Probe, waiting: Sequence[_Untried]) -> list[str]:
        """Try them; what was dropped and why."""
        probe.prefetch(untried.configuration for untried in waiting)
        found: dict[tuple[str, str], list[str]] = {}  # by parameter and kind of problem: the first in full, others by value
        for untried in waiting:
            name, value = untried.name, untried.value
            if (problem := probe.problem(untried.configuration)) is None:
                self._tried[name, value] = untried.configuration
            else:
                alike = found.setdefault((name, str(problem).partition(":")[0]), [])
                alike.append(str(value) if alike else f"{name}={value} {problem}")
                self.draft = self.draft.without(name, value)
        return [first + (f" (and so for {', '.join(others)})" if others else "") for first, *others in found.values()]

    def _drop_refuted(self, tried: Sequence[_Untried]) -> None:
        """A conjecture of which no value that was tried is right: the others need not be."""
        right = {name for name, _ in self._tried}
        for name in {each.name for each in tried} & self.draft.conjectures.keys() - right:
            self.draft = self.draft.without_parameter(name)

    def _drop_unseen(self, probe: Probe, names: Iterable[str]) -> list[str]:
        """Watch what was conjectured: right outputs do not show races, nor reads past an end. All together where that can be."""
        tried: dict[str, Configuration] = {}
        for name in names:
            left = self.draft.alternatives(name) if name in self.draft.conjectures else frozenset()
            found = next((found for value, found in self._tried_of(name).items() if value in left), None)
            if found is not None:
                tried[name] = found
        together = Configuration.of({**probe.space.default, **{name: found[name] for name, found in tried.items()}})
        if len(tried) > 1 and together in probe.space and probe.unseen_problem(together) is None:
            return []
        dropped = []
        for name, found in tried.items():
            unseen = probe.unseen_problem(found)
            if unseen is not None:
                dropped.append(f"{name} is correct here, but {unseen}")
                self.draft = self.draft.without_parameter(name)
        return dropped

    def _drop_idle(self, probe: Probe, names: Iterable[str]) -> list[str]:
        """Leave out parameters that make no difference on this device, whatever they may do on another."""
        dropped = []
        idle = [name for name in names if self._is_idle(probe, name)]
        probe.prefetch(untried.configuration for untried in self._untried(probe, idle))
        for name in idle:
            dropped += self._drop_values(probe, self._untried(probe, [name]))
            if name in self.draft.origins and self._is_idle(probe, name):
                dropped.append(f"{name} has no effect on {self._lab.info.name}: identical code for every value")
                for value in self._tried_of(name):
                    self.draft = self.draft.without(name, value)
        return dropped

    def _is_idle(self, probe: Probe, name: str) -> bool:
        """Whether every value that was tried is the same as the default."""
        pairs = [(found, _plain(probe, found, name)) for found in self._tried_of(name).values()]
        probe.prefetch(plain for _, plain in pairs if plain in probe.space)
        return bool(pairs) and all(plain in probe.space and probe.same_launch(found, plain) for found, plain in pairs)

    def _tried_of(self, name: str) -> dict[int, Configuration]:
        return {value: found for (of, value), found in self._tried.items() if of == name}

    def _new_forms(self, probe: Probe, before: Draft) -> list[tuple[Branch, Configuration]]:
        old = [branch.guard for branch in before.branches]
        found: list[tuple[Branch, Configuration]] = []
        for branch in self.draft.branches[1:]:
            guard = {name: self.draft.groups[name][key][0] for name, key in branch.guard.items()}
            configuration = Configuration.of({**probe.space.default, **guard})
            # Of one parameter, it was tried as a value.
            if branch.guard not in old and len(away(configuration, probe.space.default)) > 1 and configuration in probe.space:
                found.append((branch, configuration))
        return found

    def _drop_forms(self, probe: Probe, before: Draft) -> list[str]:
        """Try every new form as a whole: one that is right in the original may not be in what an earlier pass made of it."""
        dropped = []
        for branch, configuration in self._new_forms(probe, before):
            if (problem := probe.problem(configuration)) is not None:
                shown = " ".join(f"{name}={configuration[name]}" for name in branch.guard)
                dropped.append(f"{shown} {problem}")
                self.draft = self.draft.without_form(branch.guard)
        return dropped


def _plain(probe: Probe, configuration: Configuration, name: str) -> Configuration:
    """The same, but for one parameter at its default."""
    return Configuration.of({**configuration, name: probe.space.default[name]})
