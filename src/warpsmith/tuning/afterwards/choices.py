"""A run's candidates, to be compiled and judged again: its last template, or its rewrites.

The one place that asks which of the two a run has. Everything after it (exports, `verify`, comparisons) takes either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.export.base import Choices, Standalone
from warpsmith.export.templated import Templated
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.space import space_of
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.afterwards.explain import searched_kernel
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.evaluate import Feasible
from warpsmith.tuning.order import Mode, kernel_of
from warpsmith.tuning.rounds.rewrites import Rewrites


class RunChoices(Choices, Protocol):
    """`Choices` that a device can be asked about."""

    @property
    def plain(self) -> Kernel:
        """The original kernel, without parameters."""
        ...

    def builder(self, limits: Limits, pool: CompilePool) -> Builder: ...

    def feasible(self, limits: Limits) -> Feasible: ...


class OfTemplate(Templated):
    @property
    def plain(self) -> Kernel:
        return untouched(self.kernel)

    def builder(self, limits: Limits, pool: CompilePool) -> Builder:
        return Builder(Binder(self.kernel, limits), self.template, pool)

    def feasible(self, limits: Limits) -> Feasible:
        return space_of(self.kernel, self.template, limits)


class OfRewrites:
    """`limits` are those of the device that the run was on."""

    template: None = None

    def __init__(self, plain: Kernel, proposals: Sequence[Proposal], limits: Limits) -> None:
        self.plain = plain
        self._proposals = tuple(proposals)
        self._there = Rewrites.of(plain, limits, proposals)

    @property
    def kernel(self) -> Kernel:
        return self._there.kernel

    def standalone(self, configuration: Configuration) -> Standalone:
        rewrite = self._there.rewrite(configuration)
        return rewrite.standalone if rewrite is not None else Templated.of(self.plain).standalone(Configuration())

    def builder(self, limits: Limits, pool: CompilePool) -> Builder:
        return self.feasible(limits).builder(pool)

    def feasible(self, limits: Limits) -> Rewrites:
        return self._there if limits == self._there.limits else Rewrites.of(self.plain, limits, self._proposals)


def choices_of(record: RunRecord, store: Store) -> RunChoices:
    """Raises InputError if the files of the kernel or of the template have changed."""
    if record.header.settings.get("mode") != Mode.DIRECT:
        return OfTemplate.of(searched_kernel(record, store))
    proposals = [Proposal.from_record(dict(about.plan)) for about in store.rounds(record.run)]
    return OfRewrites(untouched(kernel_of(record)), proposals, Limits(**record.header.device_info["limits"]))
