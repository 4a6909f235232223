"""The winner on every workload, including held-out ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warpsmith.record.result import Claim, Figures, Overall, RunResult, Uncertain
from warpsmith.report.forest import draw_speedups
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import NOTHING, Content, Html, Section, element, figure, joined, paragraphs, section, table
from warpsmith.report.inline import inline_svg
from warpsmith.report.wording import fraction_text, interval_text, speedup_text, time_text

_COLUMNS = ("workload", "original", "best", "speedup", "95 % interval", "of roofline", "verified")
_ORIGINAL_COLUMNS = ("workload", "original", "of roofline", "verified")
_EXPLAINED = (
    "Times are medians over fresh processes; speedups are paired ratios, so they can differ from the quotient of the two times."
    " Of roofline: the minimum time for the same traffic and operations on this machine, measured together with the claims,"
    " over the kernel's."
)


def workloads(facts: RunFacts) -> Section | None:
    if (result := facts.claimed) is None:
        return None
    general, uncertain = result.general, result.uncertain
    shown = []
    if uncertain is not None:
        caption = "The best found, not significantly faster than the original: no result"
        shown.append(table(caption, _COLUMNS, _rows(facts, result, uncertain), numbers=range(1, 6), class_="uncertain"))
    elif general.config == result.baseline.config:
        rows = ([row[0], row[2], *row[5:]] for row in _rows(facts, result, general))
        shown.append(table("The original, unchanged", _ORIGINAL_COLUMNS, rows, numbers=range(1, 3)))
    else:
        shown.append(table("The general configuration", _COLUMNS, _rows(facts, result, general), numbers=range(1, 6)))
    if facts.own_claims:
        shown.append(table("Workloads with their own configuration", _COLUMNS, _own_rows(facts, result), numbers=range(1, 6)))
    plot = _plot(result, result.best)
    return section("workloads", "Per workload", plot, *shown, paragraphs([_EXPLAINED], class_="note"))


def _heldout(result: RunResult, general: Overall) -> Mapping[str, Claim]:
    return general.heldout if isinstance(general, Uncertain) else result.heldout


def _rows(facts: RunFacts, result: RunResult, general: Overall) -> Iterator[list[Content]]:
    baseline = result.baseline
    if len(general.workloads) > 1:
        name = joined([element("b", "overall"), element("small", " weighted geometric mean")])
        yield _row(name, baseline.median_us, general)
    for workload, entry in general.workloads.items():
        yield _row(_name(facts, workload), baseline.workloads[workload].median_us, entry)
    for workload, entry in _heldout(result, general).items():
        yield _row(_name(facts, workload, element("span", "held out", class_="tag")), entry.baseline_us, entry)


def _own_rows(facts: RunFacts, result: RunResult) -> Iterator[list[Content]]:
    originals = result.baseline.workloads
    for workload, entry in facts.own_claims.items():
        yield _row(_name(facts, workload), originals[workload].median_us, entry)


def _row(name: Content, original_us: float | None, entry: Figures) -> list[Content]:
    low, high = entry.ci95
    speedup = speedup_text(entry.speedup)
    class_ = "faster" if low > 1 else "slower" if high < 1 else None
    return [
        name,
        "-" if original_us is None else time_text(original_us),  # runs of earlier versions did not note it for held-out ones
        time_text(entry.median_us),
        element("b", speedup, class_=class_),
        interval_text(entry.ci95),
        fraction_text(entry.roofline_fraction),
        "yes" if entry.verified else "NO",
    ]


def _name(facts: RunFacts, name: str, tag: Html = NOTHING) -> Content:
    """With its sizes, and its weight where it is not 1."""
    known = next((w for w in facts.workloads if w.name == name), None)
    if known is None:
        return joined([name, tag])
    sizes = [f"{size}={value}" for size, value in known.sizes.items()]
    weight = [f"weight {known.weight:g}"] if known.weight != 1 else []
    return joined([name, tag, element("small", " " + ", ".join([*sizes, *weight]))])


def _plot(result: RunResult, general: Overall) -> Html:
    if general.config == result.baseline.config:
        return NOTHING  # the original beside itself
    heldout = _heldout(result, general)
    claims: dict[str, Figures] = {**({"overall": general} if len(general.workloads) > 1 else {}), **general.workloads}
    named = {**claims, **{f"{name} (held out)": entry for name, entry in heldout.items()}}
    words = "; ".join(f"{name} {speedup_text(entry.speedup)}" for name, entry in named.items())
    drawn = draw_speedups(named, frozenset(f"{name} (held out)" for name in heldout))
    caption = "Speedup over the original (dashed line). Hollow: held out, never used to select. Very wide intervals are clipped."
    return figure(inline_svg(drawn, "speedups", f"Speedups with their intervals: {words}"), caption, class_="broad")
