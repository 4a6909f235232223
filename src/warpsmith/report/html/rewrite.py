"""The best rewrite of direct mode: its idea, launch, conditions, and diff against the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import NOTHING, Content, Section, bullets, definitions, element, joined, section
from warpsmith.report.html.template import shown_diff


def rewrite(facts: RunFacts) -> Section | None:
    if not facts.result.is_direct or (facts.best is None and facts.missing is None):
        return None
    best = facts.rewrite_of(facts.best.config) if facts.best is not None else None
    others = [f"For {workload}: {_named(facts, entry.config)}" for workload, entry in facts.own_claims.items()]
    return section(
        "rewrite",
        "The best rewrite",
        definitions(_about(best)) if best is not None else element("p", "No rewrite is significantly faster."),
        bullets(others),
        element("p", f"Not shown: {facts.missing}") if facts.missing is not None else NOTHING,
        shown_diff(facts.rewrite_diff) if facts.rewrite_diff else NOTHING,
    )


def _about(plan: Mapping[str, Any]) -> Iterator[tuple[Content, Content]]:
    yield "Rewrite", str(plan["number"])
    yield "Idea", plan["hypothesis"] or "-"
    if plan.get("entry"):
        yield "Entry", element("code", plan["entry"])
    yield "Grid", element("code", ", ".join(plan["grid"]))
    yield "Block", element("code", ", ".join(plan["block"]))
    if plan["shared"] != "0":
        yield "Shared", joined([element("code", plan["shared"]), " bytes"])
    for rule in plan["rules"]:
        yield "Only where", joined([element("code", rule["expression"]), f": {rule['reason']}" if rule["reason"] else ""])


def _named(facts: RunFacts, config: Mapping[str, Any]) -> str:
    plan = facts.rewrite_of(config)
    return f"rewrite {plan['number']}: {plan['hypothesis']}" if plan is not None else "the original"
