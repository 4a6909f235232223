"""Renders the measurements of each form: its default and best with times, compiler report and roof, its accesses, a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from warpsmith.agents.llm.scrub import presentable
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Measured, WorkloadTime
from warpsmith.report.wording import searched_text
from warpsmith.source.lane_strides import Access
from warpsmith.tuning.agent.form_facts import FormFacts
from warpsmith.tuning.agent.planning import Facts

_MOST_ACCESSES = 8
_MOST_REASON = 160
_MOST_REMARKS = 600
_MOST_PARAMETERS = 6  # of an importance
_ABOVE_THE_ROOF = {
    "arithmetic": "More than 100 % of an arithmetic roof: it is the time for the operations that kernel.toml's [traffic] counts,"
    " and fewer were done, or the machine was busier when the roof was measured.",
    "memory": "More than 100 % of a memory roof: it is the time to move every argument once, and less was moved (which bytes are"
    " read depends on data, or kernel.toml's [traffic] counts too many).",
}
_LEGEND = (
    "Speeds are the original's time over the candidate's, launched in turns, with 95 % intervals; overall is their weighted"
    " geometric mean over the workloads. Times in µs drift with the machine: compare speeds."
)


def forms_text(facts: Facts) -> str:
    parts = [_LEGEND, *_above_the_roof(facts)]
    for found in facts.forms:
        parts += ["", *_form(found, facts)]
    return "\n".join(parts)


def _above_the_roof(facts: Facts) -> Iterator[str]:
    """What it means where a form is above one: once, not with every figure."""
    outcomes = [e.outcome for form in facts.forms for e in (form.default, form.best) if e is not None]
    times = [time for outcome in outcomes if isinstance(outcome, Measured) for time in outcome.times]
    bounds = {facts.bounds.get(t.workload, "memory") for t in times if t.median_us < facts.roof_us.get(t.workload, 0.0)}
    yield from (words for bound, words in _ABOVE_THE_ROOF.items() if bound in bounds)


def _form(found: FormFacts, facts: Facts) -> Iterator[str]:
    name = f"Form {found.number}" if found.number else "The kernel itself (form 0)"
    yield f"{name}, {found.evaluations} evaluation(s):"
    default, best = found.default, found.best
    yield from _point("default", found, default, facts) if default is not None else ("- default: not evaluated.",)
    if best is not None and best is not default:
        yield from _point("best", found, best, facts)
    if found.accesses:
        yield _accesses(found, is_gpu=facts.limits.has_banked_scratchpad)
    if len(found.rows) > 1:
        yield from _table(found)
    if found.importance is not None:
        shares = ", ".join(
            f"{found.names.get(p.name, p.name)} {p.share:.0%}" for p in found.importance.parameters[:_MOST_PARAMETERS]
        )
        yield f"- share of the variation in time within this form (R² {found.importance.r2:.2f}): {shares}."


def _point(what: str, found: FormFacts, evaluation: Evaluation, facts: Facts) -> Iterator[str]:
    values = " ".join(f"{name}={value}" for name, value in found.values(evaluation).items())
    at = f"{what} ({values})" if values else what
    outcome = evaluation.outcome
    if not isinstance(outcome, Measured):
        yield f"- {at}: {type(outcome).__name__}: {presentable(outcome.reason, _MOST_REASON)}"
        return
    speed = searched_text(1 / outcome.score, outcome.speedup_ci95)
    yield f"- {at}: {speed} the original's speed; {compiled_text(outcome.resources)}"
    yield from (f"  {line}" for line in _times(outcome.times, facts))


def _times(times: Sequence[WorkloadTime], facts: Facts) -> Iterator[str]:
    for time in times:
        low, high = time.ci95
        interval = (1 / high, 1 / low) if low > 0 and high < float("inf") else None
        yield (
            f"{time.workload}: {time.median_us:.1f} µs, {searched_text(1 / time.relative, interval)}"
            f"{_roof(time.median_us, facts.roof_us.get(time.workload), facts.bounds.get(time.workload))}"
        )


def _roof(us: float, roof_us: float | None, bound: str | None) -> str:
    if roof_us is None:
        return ""
    if us < roof_us:
        return f"; {roof_us / us:.0%} of its {bound or 'measured'} roof of {roof_us:.1f} µs"
    return f"; {us - roof_us:.1f} µs above its {bound or 'measured'} roof of {roof_us:.1f} µs ({roof_us / us:.0%})"


def compiled_text(found: Resources) -> str:
    """The compiler's own figures; none without a value."""
    known = [(f.name, getattr(found, f.name)) for f in fields(found) if f.name not in {"remarks", "max_threads"}]
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in known if value is not None)
    remarks = "; ".join(remark for remark in found.remarks if not remark.startswith("vectorized"))
    return presentable("; ".join(filter(None, (told, remarks))) or "the compiler told nothing", _MOST_REMARKS)


def _accesses(found: FormFacts, *, is_gpu: bool) -> str:
    """Those that are no wide loads, the innermost first; a line of its own, so that a further turn need not repeat it.

    Where the compiler counted what it made of them, its word is the last: the text does not tell every index.
    """
    number, counted = found.number, _gathers_and_scatters(found)
    slow = sorted((a for a in found.accesses if a.apart not in {"0", "1"}), key=lambda a: (-a.depth, a.line))
    if slow and counted == 0:
        return f"- memory of form {number}: the compiler made no gather and no scatter."
    if not slow:
        made = f" The {counted} gathers and scatters are where the compiler cannot tell that, or under masks." if counted else ""
        return f"- memory of form {number}: neighbouring threads touch neighbouring or the same elements in every access.{made}"
    what = "several transactions a warp" if is_gpu else "gathers and scatters instead of wide accesses"
    deepest = max(a.depth for a in found.accesses)
    listed = [_access(access, is_hot=access.depth == deepest) for access in slow[:_MOST_ACCESSES]]
    listed += [f"and {len(slow) - _MOST_ACCESSES} more"] if len(slow) > _MOST_ACCESSES else []
    return f"- memory of form {number}, not contiguous along threadIdx.x ({what}): {'; '.join(listed)}."


def _gathers_and_scatters(found: FormFacts) -> int | None:
    """As the compiler counted them at the default, or at the best; None where it tells nothing."""
    outcomes = [e.outcome for e in (found.default, found.best) if e is not None]
    told = [o.resources for o in outcomes if isinstance(o, Measured)]
    counts = [r.gathers + r.scatters for r in told if r.gathers is not None and r.scatters is not None]
    return max(counts, default=None)


def _access(access: Access, *, is_hot: bool) -> str:
    place = "once a thread" if not access.depth else "hot: innermost loop" if is_hot else "in a loop"
    apart = f"{access.apart} elements apart" if access.apart is not None else "by an index that the text does not tell"
    return f"line {access.line} ({place}) {'writes ' if access.is_written else ''}`{access.text}`, {apart}"


def _table(found: FormFacts) -> Iterator[str]:
    """The best, the best with each value of each parameter, the worst, what failed."""
    columns = list(found.names.values())
    yield f"| speed | {' | '.join(columns)} | compiler |"
    yield f"|{'---|' * (len(columns) + 2)}"
    for evaluation in found.rows:
        outcome = evaluation.outcome
        values = " | ".join(str(value) for value in found.values(evaluation).values())
        if isinstance(outcome, Measured):
            yield f"| {searched_text(1 / outcome.score, outcome.speedup_ci95)} | {values} | {_brief(outcome.resources)} |"
        else:
            reason = " ".join(presentable(outcome.reason, _MOST_REASON).split()).replace("|", "/")
            yield f"| {type(outcome).__name__} | {values} | {reason} |"


def _brief(found: Resources) -> str:
    shown: Mapping[str, int | None] = {
        "width": found.vector_width,
        "gathers": found.gathers,
        "scatters": found.scatters,
        "registers": found.registers,
        "spilled bytes": found.spill_bytes,
        "instructions": found.instructions,
    }
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value is not None)
