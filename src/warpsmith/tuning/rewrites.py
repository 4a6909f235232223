"""Whole kernels that an agent wrote, as candidates: a rewrite is a value of `REWRITE`, and 0 is the original.

Unlike a form of a template a rewrite has no parameters: its source and its launch are all there is to it. So the pieces that
judge configurations judge rewrites as they are; only what is compiled for one, and what rules it out, is asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.devices.base import CompileRequest
from warpsmith.refactor.proposal import Proposal
from warpsmith.space import Space, Violation
from warpsmith.spec.kernel import Kernel, Launch, Parameter, Workload
from warpsmith.template import Template, template_of
from warpsmith.tuning.evaluate import Builder

REWRITE = "REWRITE"


def rewrite_configuration(number: int) -> Configuration:
    return Configuration(((REWRITE, number),))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A proposal that makes sense as a kernel: its launch parses, and every choice in it is fixed."""

    binder: Binder
    source: Source
    space: Space  # of one configuration: what the device's limits say to its launch

    @classmethod
    def of(cls, proposal: Proposal, kernel: Kernel, limits: Limits) -> Rewrite:
        """Raises InputError for a launch that does not parse or is not allowed on every workload, and for choices left open."""
        left_open = [t.name for t in proposal.tunables if len(t.values) > 1]
        if left_open:
            raise InputError(f"a rewrite has every choice fixed, but this leaves {', '.join(left_open)} open")
        grid, block = (tuple(map(Expression.parse, extents)) for extents in (proposal.grid, proposal.block))
        launch = Launch(grid, block, Expression.parse(proposal.shared))
        return cls(
            Binder(replace(kernel, launch=launch), limits),
            # It stands in for the original, in whose folder its includes are looked for.
            Source(proposal.source, kernel.source, proposal.entry or None),
            Space.build((), (), launch, kernel.workloads, limits),
        )

    def request(self, workload: Workload) -> CompileRequest:
        return self.binder.request(self.source, Configuration(), workload, {})


class Rewrites:
    """The rewrites of one run, by number: what is compiled for each, and why one is not launched."""

    def __init__(self, kernel: Kernel, limits: Limits) -> None:
        self.kernel = replace(kernel, parameters=(Parameter(REWRITE, (0,), 0),))
        self.limits = limits
        self._plain = kernel
        self._known: dict[int, Rewrite | InputError] = {}

    def add(self, proposal: Proposal) -> None:
        """One that cannot be launched is kept too, with the reason: its evaluation says it."""
        try:
            self._known[proposal.number] = Rewrite.of(proposal, self._plain, self.limits)
        except InputError as error:
            self._known[proposal.number] = error

    # ── what rules one out, as `tuning.evaluate.Feasible` ──

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, Configuration) and not self.explain(configuration)

    def explain(self, configuration: Configuration) -> list[Violation]:
        found = self._known.get(int(configuration[REWRITE]))
        return [Violation("launch", "", None, " ".join(found.message.split()))] if isinstance(found, InputError) else []

    def allows(self, names: Mapping[str, Value]) -> bool:
        """On sizes that are of no declared workload."""
        found = self._known.get(int(names[REWRITE]))
        return not isinstance(found, Rewrite) or found.space.allows(names)

    # ── what is compiled ──

    def request(self, configuration: Configuration, workload: Workload) -> CompileRequest | None:
        """None for the original."""
        found = self._known.get(int(configuration[REWRITE]))
        return found.request(workload) if isinstance(found, Rewrite) else None

    def builder(self, pool: CompilePool) -> Builder:
        builder = Builder(Binder(self.kernel, self.limits), self.template(), pool)
        builder.requests = _Requests(self, builder.binder, builder.template)
        return builder

    def template(self, path: Path | None = None) -> Template:
        """Stands where a searched template stands in a run's result; `path` is where the rewrites lie."""
        values = tuple(range(1 + max(self._known, default=0)))
        own = template_of(self._plain)
        return replace(own, path=path or own.path, parameters=(Parameter(REWRITE, values, 0),))


class _Requests(Requests):
    def __init__(self, rewrites: Rewrites, binder: Binder, template: Template) -> None:
        super().__init__(binder, template)
        self._rewrites = rewrites

    def of(self, configuration: Configuration, workloads: Iterable[Workload]) -> dict[str, CompileRequest]:
        return {w.name: self._rewrites.request(configuration, w) or self.original(w) for w in workloads}
