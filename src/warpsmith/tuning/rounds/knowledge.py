"""What earlier runs taught: which of it is told to a run, and what a run adds to it.

Runs with kernels of the same kind on the same kind of device are told, the most similar first. A comparison and a replayed
conversation are told nothing: their figures are to be the agent's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.record.lessons import FormLesson, Lesson, PassLesson
from warpsmith.record.result import Interval, KnowledgeEntry
from warpsmith.record.run import RoundRecord
from warpsmith.record.store import Store
from warpsmith.refactor.on_form import parted
from warpsmith.refactor.proposal import FORM, PROPOSALS, Proposal
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.features import similarity
from warpsmith.tuning.agent.planning import ProposalReport
from warpsmith.tuning.order import Order

_SIMILAR = 0.6
_MOST = 3  # kernels that a run is told of
_MOST_FORMS, _MOST_PASSES = 8, 16
_MOST_SOURCE = 4_000  # characters of a form that won: a longer one is known by its hypothesis alone
_MOST_WORDS = 300
_REPLAYED = "replay:"


def is_told(order: Order) -> bool:
    return order.knowledge and order.comparison is None and _REPLAYED not in order.agent


def told_of(store: Store, run: str, device: str, features: frozenset[str], *, wanted: bool) -> list[tuple[Lesson, float]]:
    """What the run is told; the same again once it is resumed, whatever was learnt meanwhile."""
    known = {lesson.run: lesson for lesson in store.lessons()}
    offered = store.offered(run)
    if offered is None:
        chosen = similar(list(known.values()), device.partition(":")[0], features) if wanted else []
        offered = {lesson.run: round(how, 3) for lesson, how in chosen}
        store.offer(run, features, offered)
    return [(known[name], how) for name, how in offered.items() if name in known]


def similar(known: Sequence[Lesson], device: str, features: frozenset[str]) -> list[tuple[Lesson, float]]:
    """Of each kernel the latest, on this kind of device; the most similar first."""
    latest: dict[str, tuple[Lesson, float]] = {}
    for lesson in known:
        how = similarity(lesson.features, features)
        if lesson.device == device and how >= _SIMILAR:
            latest.setdefault(lesson.kernel, (lesson, how))
    return sorted(latest.values(), key=lambda pair: -pair[1])[:_MOST]


def learnt(
    template: Kernel, plans: Sequence[RoundRecord], forms: Sequence[ProposalReport], known: Sequence[Evaluation]
) -> tuple[tuple[FormLesson, ...], tuple[PassLesson, ...]]:
    """Of a run that was searched: `known` are its evaluations as results of its last template."""
    measured = [(e.configuration, e.outcome) for e in known if isinstance(e.outcome, Measured)]
    best, outcome = min(measured, key=lambda pair: pair[1].score)
    written = [_of_form(report, int(best.get(FORM, 0)), measured) for report in forms]
    origins: dict[str, list[str]] = {}
    for about in plans:
        for parameter, name in about.report.get("origins", {}).items():
            if name != PROPOSALS and parameter in best:
                origins.setdefault(parted(name)[0], []).append(parameter)
    default = template.default_configuration
    passes = [_of_pass(name, set(own), default, (best, outcome), measured) for name, own in origins.items()]
    ordered = sorted(written, key=lambda form: -(form.speedup or 0.0))
    return tuple(ordered[:_MOST_FORMS]), tuple(sorted(passes, key=lambda p: -p.gain)[:_MOST_PASSES])


def _of_form(report: ProposalReport, winner: int, measured: Sequence[tuple[Configuration, Measured]]) -> FormLesson:
    proposal = report.proposal
    mine = [(point, outcome) for point, outcome in measured if point.get(FORM, 0) == proposal.number]
    point, best = min(mine, key=lambda pair: pair[1].score, default=(None, None))
    hypothesis = proposal.hypothesis[:_MOST_WORDS]
    if best is None or point is None or report.problem is not None:
        return FormLesson(hypothesis, lost=(report.problem or "it was not measured")[:_MOST_WORDS])
    settings = _settings(proposal, point)
    speedup = round(1 / best.score, 3)
    if proposal.number == winner:
        fits = len(proposal.source) <= _MOST_SOURCE
        return FormLesson(hypothesis, speedup, best.speedup_ci95, None, proposal.source if fits else None, settings)
    return FormLesson(hypothesis, speedup, best.speedup_ci95, report.dropped or _why_slow(best), settings=settings)


def _settings(proposal: Proposal, point: Configuration) -> str:
    own = {theirs: point.get(ours) for ours, theirs in proposal.parameters.items()}
    values = " ".join(f"{name}={value}" for name, value in own.items())
    shared = f", shared {proposal.shared}" if proposal.shared != "0" else ""
    return f"grid ({', '.join(proposal.grid)}), block ({', '.join(proposal.block)}){shared}{f' at {values}' if values else ''}"


def _why_slow(outcome: Measured) -> str:
    """The compiler's figures that tell: what a next author would want to avoid."""
    found = outcome.resources
    told = {"gathers": found.gathers, "scatters": found.scatters, "bytes spilled": found.spill_bytes}
    parts = [f"{count} {what}" for what, count in told.items() if count]
    parts += ["not vectorised"] if found.vector_width == 1 else []
    return "it was slower" + (f" ({', '.join(parts)})" if parts else "")


def _of_pass(
    name: str,
    own: set[str],
    default: Configuration,
    best: tuple[Configuration, Measured],
    measured: Sequence[tuple[Configuration, Measured]],
) -> PassLesson:
    """Against the best of what was measured with its parameters at their defaults."""
    configuration, outcome = best
    if all(configuration[parameter] == default[parameter] for parameter in own):
        return PassLesson(name, 1.0)
    plain = [other for point, other in measured if all(point.get(p, default[p]) == default[p] for p in own)]
    without = min(plain, key=lambda other: other.score)
    return PassLesson(name, round(without.score / outcome.score, 3), _ratio(_interval(outcome), _interval(without)))


def _interval(outcome: Measured) -> Interval | None:
    """The original's speed is 1 by definition."""
    return (1.0, 1.0) if outcome.score == 1 else outcome.speedup_ci95


def _ratio(one: Interval | None, other: Interval | None) -> Interval | None:
    """Of two speeds with their intervals, at its widest."""
    if one is None or other is None or other[0] <= 0:
        return None
    return round(one[0] / other[1], 3), round(one[1] / other[0], 3)


def entries(told: Sequence[tuple[Lesson, float]]) -> tuple[KnowledgeEntry, ...]:
    """Of the run's result."""
    return tuple(
        KnowledgeEntry(run=lesson.run, kernel=lesson.kernel, device=lesson.about, similarity=how) for lesson, how in told
    )
