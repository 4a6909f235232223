"""One round: a template, its space, and the applicable results of earlier rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.devices.base import DeviceInfo
from warpsmith.space import Space, space_of
from warpsmith.spec.kernel import Kernel
from warpsmith.template import Template, template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.targets import NO_TARGETS, Targets


@dataclass(frozen=True, slots=True)
class Round:
    """A template and all that it takes to search it."""

    number: int
    kernel: Kernel
    template: Template
    space: Space
    builder: Builder

    def carried(self, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
        """What earlier rounds measured, as results of this one; what this space no longer has is left out."""
        return carried_over(evaluations, self.space)


def carried_over(evaluations: Sequence[Evaluation], space: Space) -> list[Evaluation]:
    """As `extended`, without what the larger template's space no longer has."""
    return [e for e in extended(evaluations, space.default) if space.index(e.configuration) is not None]


def extended(evaluations: Sequence[Evaluation], default: Configuration) -> list[Evaluation]:
    """Results of a smaller template as results of a larger one: the parameters that it adds are at their defaults."""
    found = {}
    for evaluation in evaluations:
        values = dict(evaluation.configuration.pairs)
        if values.keys() <= default.keys():
            configuration = Configuration.of({**default, **values})
            found[configuration] = replace(evaluation, configuration=configuration)
    return list(found.values())


def make_round(number: int, kernel: Kernel, pool: CompilePool, info: DeviceInfo, targets: Targets = NO_TARGETS) -> Round:
    template = template_of(kernel)
    space = space_of(kernel, template, info.limits, targets.limits)
    inspectors = targets.inspectors(kernel, lambda limits: Requests(Binder(kernel, limits), template))
    builder = Builder(Binder(kernel, info.limits), template, pool, inspectors)
    return Round(number, kernel, template, space, builder)
