"""The size of the space, and what each constraint removed."""

from __future__ import annotations

from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Content, Section, element, joined, paragraphs, section, table
from warpsmith.report.wording import removed_text


def space(facts: RunFacts) -> Section | None:
    found = facts.template
    if found is None or not found.parameters:
        return None
    share = found.feasible / found.cartesian_size
    tried = len(facts.evaluations)
    texts = [
        f"{found.feasible:,} of {found.cartesian_size:,} configurations are feasible ({share:.1%}); {tried:,} were evaluated.",
    ]
    if not found.removed:
        return section("space", "The space", paragraphs([*texts, "No constraint removes any configuration."]))
    rows: list[list[Content]] = [
        [
            element("code", r.constraint),
            removed_text(r.count, estimate=r.estimate),
            f"{r.count / found.cartesian_size:.1%}",
            r.reason,
        ]
        for r in sorted(found.removed, key=lambda r: -r.count)
    ]
    estimated = ["~ marks a count that was estimated from a sample."] if any(r.estimate for r in found.removed) else []
    shown = table(
        "Configurations that each constraint alone removes", ("constraint", "removes", "share", "reason"), rows, numbers=[1, 2]
    )
    return section("space", "The space", joined([paragraphs(texts), shown, paragraphs(estimated, class_="note")]))
