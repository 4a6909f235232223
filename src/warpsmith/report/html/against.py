"""Comparison with another run: both claims, whether they differ significantly, and other differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warpsmith.report.course import draw_courses
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import NOTHING, Content, Html, Section, element, figure, paragraphs, section, table
from warpsmith.report.inline import inline_svg
from warpsmith.report.wording import interval_text, speedup_text, time_text

_CLAIMS = ("workload", "original here", "original there", "here", "there", "there / here", "95 % interval", "")
_WARNING = "The runs are of different kernels, so their speedups have different baselines."


def against(facts: RunFacts) -> Section | None:
    if (other := facts.other) is None:
        return None
    found = other.differences
    here, there = found["runs"]
    said = [f"Here: {here}. There: {there}. The runs were measured separately; the interval of the ratio includes both errors."]
    said += [_WARNING] if not found["comparable"] else []
    said += [f"Only one of them has {', '.join(found['only_in_one'])}."] if found["only_in_one"] else []
    claims = table("Claims of both runs", _CLAIMS, _claims(found), numbers=range(1, 7))
    changed = [
        table(caption, (name, "here", "there"), _pairs(found[key]))
        for key, name, caption in (
            ("configuration", "parameter", "Differences between the configurations"),
            ("changed", "fact", "Other differences"),
        )
        if found[key]
    ]
    tables = element("div", *changed, class_="beside") if changed else NOTHING
    return section("against", "Comparison with another run", paragraphs(said, class_="note"), claims, _courses(facts), tables)


def _claims(found: Mapping[str, Any]) -> Iterator[list[Content]]:
    for claim in found["claims"]:
        difference = f"{claim['differs']} there" if claim["differs"] else "no significant difference"
        yield [
            claim["workload"],
            *("-" if us is None else time_text(us) for us in claim["baseline_us"]),
            *map(speedup_text, claim["speedup"]),
            element("b", speedup_text(claim["ratio"]), class_=claim["differs"]),
            interval_text(claim["ratio_ci95"]),
            difference,
        ]


def _pairs(changed: Mapping[str, list[Any]]) -> Iterator[list[Content]]:
    for name, pair in changed.items():
        yield [name, *("-" if value is None else str(value) for value in pair)]


def _courses(facts: RunFacts) -> Html:
    assert facts.other is not None
    courses = {"here": facts.evaluations, "there": facts.other.evaluations}
    if not all(any(e.score is not None for e in known) for known in courses.values()):
        return NOTHING
    drawn = inline_svg(draw_courses(courses), "courses", "Best speedup so far of both runs, by evaluations")
    return figure(drawn, "Best speedup so far by evaluations, as searched.", class_="broad")
