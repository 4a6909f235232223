"""A summary of a kernel's source for clients: locations with their lines, and the rules' findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from warpsmith.agents.rules.analyst import findings
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits, Resources
from warpsmith.mcp.replies import Place
from warpsmith.refactor.untouched import untouched
from warpsmith.source import Names, loops_of, parse_kernel
from warpsmith.source.access_paths import read_places, written_places
from warpsmith.source.arrays import arrays_of
from warpsmith.source.effects import called_functions
from warpsmith.source.kernel import KernelSource
from warpsmith.source.tree import text_of
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.planning import Facts

_BARRIERS = frozenset({"__syncthreads", "__syncwarp", "barrier", "work_group_barrier"})
_MOST = 40  # places of a kind: a longer list is the source again
_NO_LIMITS = Limits(0, 0, 0, 0, 0, 0, 0)  # the rules that read source do not ask for them


@dataclass(frozen=True, slots=True)
class Summary:
    loops: list[Place] = field(default_factory=list)
    accesses: list[Place] = field(default_factory=list)
    barriers: list[Place] = field(default_factory=list)
    shared_arrays: list[Place] = field(default_factory=list)


def summary_of(kernel: Kernel) -> Summary:
    """Empty where the grammar does not find the kernel, or is nested too deeply: the compiler may all the same."""
    plain = untouched(kernel)
    try:
        return _summary(plain, parse_kernel(read_source(plain.source), plain.language, plain.entry))
    except (InputError, RecursionError):
        return Summary()


def _summary(plain: Kernel, source: KernelSource) -> Summary:
    names = Names(source, (), plain)
    bodies = source.reached()
    loops, accesses, barriers = [], [], []
    for body in bodies:
        for loop in loops_of(body, names):
            steps = f", {loop.trips} steps" if loop.trips is not None else ""
            loops.append(Place(line=source.line_of(loop.node), what=f"{loop.variable}: {loop.kind}{steps}"))
        for verb, places in (("writes", written_places(body, names)), ("reads", read_places(body, names))):
            for place in places:
                what = f"{verb} {' or '.join(sorted(place.roots))}: {_short(text_of(place.node))}"
                accesses.append(Place(line=source.line_of(place.node), what=what))
        barriers += [
            Place(line=source.line_of(call), what=name)
            for name, call in called_functions(body)
            if name.rsplit("::", 1)[-1] in _BARRIERS
        ]
    shared = [
        Place(line=source.line_of(a.declarator), what=f"{a.element} {_short(text_of(a.declarator))}")
        for a in arrays_of(names)
        if a.is_shared
    ]
    return Summary(_listed(loops), _listed(accesses), _listed(barriers), _listed(shared))


def findings_of(
    kernel: Kernel,
    *,
    baseline: Resources | None = None,
    best: Resources | None = None,
    roofline_fraction: Mapping[str, float] | None = None,
) -> list[str]:
    """What the rules agent would make of it, the weightiest first."""
    facts = Facts(untouched(kernel), _NO_LIMITS, baseline, best, roofline_fraction or {})
    try:
        return [f"{finding.concern}: {finding.text}" for finding in findings(facts)]
    except RecursionError:  # as in `summary_of`
        return []


def _listed(places: Iterable[Place]) -> list[Place]:
    distinct = {(place.line, place.what): place for place in places}
    return sorted(distinct.values(), key=lambda place: place.line)[:_MOST]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"
