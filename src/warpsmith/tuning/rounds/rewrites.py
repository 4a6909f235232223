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
from warpsmith.devices.base import CompileRequest, Original
from warpsmith.export.base import Standalone
from warpsmith.refactor.confined.reader import problem_with_form
from warpsmith.refactor.proposal import Proposal
from warpsmith.space import Space, Violation
from warpsmith.space.rules import NO_LIMITS
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Constraint, Kernel, Launch, Parameter, Workload
from warpsmith.template import Template, template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.targets import NO_TARGETS, Targets

REWRITE = "REWRITE"


def rewrite_configuration(number: int) -> Configuration:
    return Configuration(((REWRITE, number),))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A proposal that makes sense as a kernel: it is device code, its launch parses, and every choice in it is fixed."""

    kernel: Kernel  # with its own launch and constraints
    source: Source
    space: Space | InputError
    """Of one configuration: what the device's limits and its own rules say to its launch, if it may run on every workload."""
    idea: str

    @classmethod
    def of(cls, proposal: Proposal, kernel: Kernel, limits: Limits, also: Mapping[str, Limits] = NO_LIMITS) -> Rewrite:
        """Raises InputError for what may not be compiled, a launch that does not parse, and choices left open."""
        problem = None if proposal.by_passes else problem_with_form(proposal, kernel, limits, is_whole_template=True)
        if problem is not None:
            raise InputError(problem)
        left_open = [t.name for t in proposal.tunables if len(t.values) > 1]
        if left_open:
            raise InputError(f"a rewrite has no parameters, but this leaves {', '.join(left_open)} open")
        grid, block = (tuple(map(Expression.parse, extents)) for extents in (proposal.grid, proposal.block))
        launch = Launch(grid, block, Expression.parse(proposal.shared))
        rules = tuple(Constraint(Expression.parse(rule.expression), rule.reason) for rule in proposal.rules)
        space: Space | InputError
        try:
            space = Space.build((), rules, launch, kernel.workloads, limits, also)
        except InputError as error:
            space = error
        # It stands in for the original, in whose folder its includes are looked for.
        held_to = None if proposal.by_passes else Original(read_source(kernel.source), kernel.defines)
        source = Source(proposal.source, kernel.source, proposal.entry or None, held_to)
        return cls(replace(kernel, launch=launch, constraints=rules), source, space, proposal.hypothesis)

    def request(self, workload: Workload, limits: Limits) -> CompileRequest:
        return Binder(self.kernel, limits).request(self.source, Configuration(), workload, {})

    @property
    def standalone(self) -> Standalone:
        kernel, source = self.kernel, self.source
        return Standalone(
            origin=source.file,
            text=source.text,
            entry=source.entry or kernel.entry,
            launch=kernel.launch,
            arguments=kernel.arguments,
            conditions=kernel.constraints,
            idea=self.idea,
        )


class Rewrites:
    """The rewrites of one run, by number: what is compiled for each, and why one is not launched."""

    def __init__(self, kernel: Kernel, limits: Limits, also: Mapping[str, Limits] = NO_LIMITS) -> None:
        """`also` has the limits of targets, by name, on which they must be allowed as well."""
        self.kernel = replace(kernel, parameters=(Parameter(REWRITE, (0,), 0),))
        self.limits = limits
        self._also = also
        self._plain = kernel
        self._known: dict[int, Rewrite | InputError] = {}

    @classmethod
    def of(cls, kernel: Kernel, limits: Limits, proposals: Iterable[Proposal]) -> Rewrites:
        found = cls(kernel, limits)
        for proposal in proposals:
            found.add(proposal)
        return found

    def add(self, proposal: Proposal) -> None:
        """One that cannot be launched is kept too, with the reason: its evaluation says it."""
        try:
            self._known[proposal.number] = Rewrite.of(proposal, self._plain, self.limits, self._also)
        except InputError as error:
            self._known[proposal.number] = error

    # ── what rules one out, as `tuning.evaluation.evaluate.Feasible` ──

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, Configuration) and not self.explain(configuration)

    def explain(self, configuration: Configuration) -> list[Violation]:
        found = self._known.get(int(configuration[REWRITE]))
        problem = found.space if isinstance(found, Rewrite) else found
        return [Violation("launch", "", None, " ".join(problem.message.split()))] if isinstance(problem, InputError) else []

    def allows(self, names: Mapping[str, Value]) -> bool:
        """On sizes that are of no declared workload."""
        found = self._known.get(int(names[REWRITE]))
        return not isinstance(found, Rewrite) or (isinstance(found.space, Space) and found.space.allows(names))

    # ── what is compiled ──

    def rewrite(self, configuration: Configuration) -> Rewrite | None:
        """None for the original. Raises InputError for one that may not be compiled, or that there is not."""
        number = int(configuration[REWRITE])
        if number == 0:
            return None
        found = self._known.get(number) or InputError(f"there is no rewrite {number}")
        if isinstance(found, InputError):
            raise InputError(f"rewrite {number}: {found.message}", location=found.location, hint=found.hint)
        return found

    def builder(self, pool: CompilePool, targets: Targets = NO_TARGETS) -> Builder:
        inspectors = targets.inspectors(self.kernel, self.requests)
        builder = Builder(Binder(self.kernel, self.limits), self.template(), pool, inspectors)
        builder.requests = self.requests(self.limits)
        return builder

    def requests(self, limits: Limits) -> Requests:
        """For a device with such limits."""
        return _Requests(self, Binder(self.kernel, limits), self.template())

    def template(self, path: Path | None = None) -> Template:
        """Stands where a searched template stands in a run's result; `path` is where the rewrites lie."""
        values = tuple(range(1 + max(self._known, default=0)))
        own = template_of(self._plain)
        return replace(own, path=path or own.path, parameters=(Parameter(REWRITE, values, 0),))


class _Requests(Requests):
    def __init__(self, rewrites: Rewrites, binder: Binder, template: Template) -> None:
        super().__init__(binder, template)
        self._rewrites = rewrites
        self._limits = binder.limits

    def of(self, configuration: Configuration, workloads: Iterable[Workload]) -> dict[str, CompileRequest]:
        rewrite = self._rewrites.rewrite(configuration)
        return {w.name: rewrite.request(w, self._limits) if rewrite is not None else self.original(w) for w in workloads}
