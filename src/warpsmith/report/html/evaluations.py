"""Every evaluation in a table that can be sorted and filtered; without scripts it is a table in the order of the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from warpsmith.core.configuration import Value
from warpsmith.core.outcome import OUTCOME_KINDS, CompileFailed, Evaluation, Measured, Outcome
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Content, Html, Section, element, folded, joined, section, table
from warpsmith.report.wording import OUTCOME_WORDS, failure_text, speedup_text, time_text

_LONGEST_REASON = 160
_LONGEST_LOG = 2000


def evaluations(facts: RunFacts) -> Section | None:
    if not facts.evaluations:
        return None
    several = len(set(facts.round_of.values())) > 1
    failed = any(e.score is None for e in facts.evaluations)
    columns = ("#", *(("round",) if several else ()), "outcome", "speedup", "time", "seconds", "configuration")
    rows = [_row(number, e, facts, several=several) for number, e in enumerate(facts.evaluations, start=1)]
    if failed:
        columns = (*columns, "reason")
        rows = [[*row, _reason(e.outcome)] for row, e in zip(rows, facts.evaluations, strict=True)]
    caption = "Every evaluation, as searched. Time: the first workload's median. Bold: values other than the original's."
    shift = int(several)
    numbers = (0, *range(2 + shift, 5 + shift))
    listed = table(caption, columns, rows, numbers=numbers, cards=False, id="evaluation-table")
    return section("evaluations", "Every evaluation", _controls(facts), listed)


def _controls(facts: RunFacts) -> Html:
    """Hidden until the script that they need has shown them."""
    counts = Counter(type(e.outcome).__name__ for e in facts.evaluations)
    words = [(OUTCOME_WORDS[kind], counts[kind]) for kind in OUTCOME_KINDS if counts[kind]]
    options = [element("option", f"{name} ({count})", value=name) for name, count in words]
    everything = element("option", f"all ({len(facts.evaluations)})", value="")
    return element(
        "form",
        element("label", "Filter ", element("input", id="filter-text", type="search", placeholder="BLOCK=256 …")),
        element("label", "Outcome ", element("select", everything, *options, id="filter-outcome")),
        element("output", "", id="filter-count"),
        id="filters",
        hidden=True,
    )


def _row(number: int, evaluation: Evaluation, facts: RunFacts, *, several: bool) -> list[Content]:
    outcome = evaluation.outcome
    kind = type(outcome).__name__
    cells: list[Content] = [str(number), *((str(facts.round_of.get(evaluation.configuration, 0)),) if several else ())]
    cells.append(element("span", OUTCOME_WORDS[kind], class_=f"outcome {kind}"))
    if isinstance(outcome, Measured):
        first = outcome.times[0] if outcome.times else None
        cells += [speedup_text(1 / outcome.score), time_text(first.median_us) if first is not None else "-"]
    else:
        cells += ["-", "-"]
    return [*cells, f"{evaluation.seconds:.2f}", _configuration(evaluation.configuration, facts.original)]


def _configuration(values: Mapping[str, Value], original: Mapping[str, Value]) -> Html:
    """In the parameters' own order; templates of earlier rounds may lack some."""
    if all(value == original.get(name, value) for name, value in values.items()):
        return element("span", "the original")
    order = [name for name in original if name in values] + [name for name in values if name not in original]
    shown = (element("b" if values[n] != original.get(n, values[n]) else "span", f"{n}={values[n]}") for n in order)
    return element("code", joined(shown, " "))


def _reason(outcome: Outcome) -> Html:
    """Its first line; the rest, and what the compiler said, when asked for. Nothing for what was measured."""
    reason = failure_text(outcome)
    log = outcome.log.strip() if isinstance(outcome, CompileFailed) else ""
    first, _, rest = reason.partition("\n")
    short = first[:_LONGEST_REASON] + (" …" if len(first) > _LONGEST_REASON else "")
    more = "\n".join(part for part in (reason if rest or short != first else "", log) if part)
    return folded(short, element("pre", more[:_LONGEST_LOG])) if more else element("span", short)
