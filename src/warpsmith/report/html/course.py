"""The search: the best so far, every evaluation, and their outcomes."""

from __future__ import annotations

from collections import Counter

from warpsmith.core.outcome import OUTCOME_KINDS
from warpsmith.report.course import best_so_far, draw_best, draw_evaluations
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import NOTHING, Content, Html, Section, element, figure, joined, paragraphs, section, table
from warpsmith.report.inline import inline_svg
from warpsmith.report.wording import OUTCOME_WORDS, failure_text, speedup_text

_MEANINGS = {
    "Measured": "verified on every tuning workload, then timed",
    "Infeasible": "outside the device's limits or a constraint",
    "CompileFailed": "the compiler refused it",
    "LaunchFailed": "the device rejected the launch",
    "WrongResult": "its outputs differ from the oracle's, so it was not timed",
    "Crashed": "its worker process died",
    "TimedOut": "it exceeded the time limit and was stopped",
}
_REASONS = 3
_MOST_TIPS = 1000  # beyond it, what the table below has anyway would make the page large
_NOTE = (
    "All figures here are as searched: each candidate was timed interleaved with the best so far, on part of the cores."
    " They guided the search and are not claims."
)


def course(facts: RunFacts) -> Section:
    known = facts.evaluations
    if not known:
        return section("search", "The search", paragraphs(["Nothing was evaluated."]))
    plots = [_curves(facts), _scatter(facts)] if len(known) > 1 else []
    return section("search", "The search", paragraphs([_NOTE], class_="note"), *plots, _outcomes(facts))


def _curves(facts: RunFacts) -> Html:
    known = facts.evaluations
    if not any(e.score is not None for e in known):
        return NOTHING
    last = speedup_text(float(best_so_far(known)[-1]))
    spent = sum(e.seconds for e in known)
    by_number = inline_svg(
        draw_best(known, against_time=False), "best-by-number", f"Best speedup so far by evaluations: {last} after {len(known)}"
    )
    by_time = inline_svg(
        draw_best(known, against_time=True), "best-by-time", f"Best speedup so far by time: {last} after {spent:.0f} seconds"
    )
    rest = (
        f"{facts.result.seconds:.0f} s in total, including templates, finalists and claims" if facts.claimed is not None else ""
    )
    return element(
        "div",
        figure(by_number, "Best speedup so far by evaluations."),
        figure(by_time, "Best speedup so far by time spent on evaluations" + (f" ({rest})." if rest else ".")),
        class_="beside",
    )


def _scatter(facts: RunFacts) -> Html:
    known = facts.evaluations
    drawn = draw_evaluations(known)
    failed = sum(e.score is None for e in known)
    alt = f"Time of {len(known)} evaluations by number, relative to the original's; {failed} have no time"
    caption = "Every evaluation: its time over the original's (dashed; lower is faster)."
    caption += " In the row above: evaluations without a time." if failed else ""
    tips = drawn.tips if len(known) <= _MOST_TIPS else {}
    return figure(inline_svg(drawn.figure, "evaluations-plot", alt, tips), caption, class_="broad")


def _outcomes(facts: RunFacts) -> Html:
    """Counted, with the commonest reasons of those that failed."""
    reasons: dict[str, Counter[str]] = {}
    for evaluation in facts.evaluations:
        kind = type(evaluation.outcome).__name__
        reasons.setdefault(kind, Counter())[failure_text(evaluation.outcome).split("\n")[0]] += 1
    rows: list[list[Content]] = []
    for kind in OUTCOME_KINDS:
        found = reasons.get(kind)
        if not found:
            continue
        common = [f"{reason} ({count})" for reason, count in found.most_common(_REASONS) if reason]
        more = [f"and {len(found) - _REASONS} other reasons"] if len(found) > _REASONS else []
        said = joined(element("div", words, class_="words") for words in (*common, *more)) if common else "-"
        rows.append([OUTCOME_WORDS[kind], str(found.total()), element("span", _MEANINGS[kind], class_="words"), said])
    return table("Outcomes", ("outcome", "count", "what it means", "commonest reasons"), rows, numbers=[1])
