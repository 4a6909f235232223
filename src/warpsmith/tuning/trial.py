"""Applies passes to a draft one after the other and keeps of each what the device finds right.

Values that no configuration can have yet are not tried at once: a later pass may bring a form that allows them. What is still
impossible in the end is left out then.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.refactor.application import apply_pass
from warpsmith.refactor.base import Pass, Stage
from warpsmith.refactor.combine import combined
from warpsmith.refactor.draft import Branch, Draft
from warpsmith.refactor.values import nearest_with, with_possible_values
from warpsmith.tuning.combinations import Combinations, away
from warpsmith.tuning.probes import Lab, Probe

_IMPOSSIBLE = "no workload and no limit of the device allows another value"


class Trial:
    def __init__(self, draft: Draft, lab: Lab) -> None:
        self._draft = draft
        self._lab = lab
        self._tried: dict[tuple[str, int], Configuration] = {}

    def apply(self, transform: Pass) -> None:
        before, after = self._draft, apply_pass(self._draft, transform)
        if not after.applications[-1].applied:
            self._draft = after
            return
        probe = Probe(combined(after), self._lab)
        difference = probe.difference()
        if difference is not None:
            self._draft = before.not_applied(transform.name, f"it changes the kernel at its defaults: {difference}")
            return
        new = [name for name in after.origins if name not in before.origins]
        self._draft = after
        dropped = [*self._drop_values(probe, new), *self._drop_forms(probe, before)]
        if transform.stage is not Stage.RESTRUCTURE:  # what another form is good for may show with later passes only
            dropped += self._drop_idle(probe, new)
        if any(name in self._draft.origins for name in new):
            self._draft = self._draft.noted(transform.name, dropped)
        else:
            self._draft = before.not_applied(transform.name, "; ".join(dropped))

    def settled(self, combinations: int) -> Draft:
        """The draft with what only all passes together tell: possible values, and so many combinations tried."""
        possible = with_possible_values(self._draft)
        self._draft = possible.tidied(_IMPOSSIBLE)
        if self._draft.origins:
            probe = Probe(combined(self._draft), self._lab)
            dropped = self._drop_values(probe, self._draft.origins)
            self._draft = self._draft.tidied("; ".join(dropped))
        if combinations and self._draft.origins:
            self._draft = Combinations(self._lab, combinations, np.random.default_rng(0)).settled(self._draft)
        return self._draft.tidied("nothing it made is right here")

    def _drop_values(self, probe: Probe, names: Iterable[str]) -> list[str]:
        """Try every value that was not tried yet, with the least else changed; what was dropped and why."""
        waiting = [
            (p.name, value, configuration)
            for p in probe.found.parameters
            if p.name in names
            for value in p.values
            if value != p.default and (p.name, value) not in self._tried
            if (configuration := nearest_with(probe.space, p.name, value)) is not None
        ]
        probe.prefetch(configuration for _, _, configuration in waiting)
        dropped = []
        for name, value, configuration in waiting:
            self._tried[name, value] = configuration
            if (problem := probe.problem(configuration)) is not None:
                dropped.append(f"{name}={value} {problem}")
                self._draft = self._draft.without(name, value)
        return dropped

    def _drop_idle(self, probe: Probe, names: Iterable[str]) -> list[str]:
        """Leave out parameters that make no difference on this device, whatever they may do on another."""
        dropped = []
        for name in names:
            default = probe.space.default[name]
            tried = {value: found for (of, value), found in self._tried.items() if of == name}
            pairs = [(found, Configuration.of({**found, name: default})) for found in tried.values()]
            probe.prefetch(plain for _, plain in pairs if plain in probe.space)
            if pairs and all(plain in probe.space and probe.same_launch(found, plain) for found, plain in pairs):
                dropped.append(f"{name} makes no difference on {self._lab.info.name}: the same code for every value")
                for value in tried:
                    self._draft = self._draft.without(name, value)
        return dropped

    def _drop_forms(self, probe: Probe, before: Draft) -> list[str]:
        """Try every new form as a whole: one that is right in the original may not be in what an earlier pass made of it."""
        old = [branch.guard for branch in before.branches]
        waiting: list[tuple[Branch, Configuration]] = []
        for branch in self._draft.branches[1:]:
            guard = {name: self._draft.groups[name][key][0] for name, key in branch.guard.items()}
            configuration = Configuration.of({**probe.space.default, **guard})
            # Of one parameter, it was tried as a value.
            if branch.guard not in old and len(away(configuration, probe.space.default)) > 1 and configuration in probe.space:
                waiting.append((branch, configuration))
        probe.prefetch(configuration for _, configuration in waiting)
        dropped = []
        for branch, configuration in waiting:
            if (problem := probe.problem(configuration)) is not None:
                shown = " ".join(f"{name}={configuration[name]}" for name in branch.guard)
                dropped.append(f"{shown} {problem}")
                self._draft = self._draft.without_form(branch.guard)
        return dropped
