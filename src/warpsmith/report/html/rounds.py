"""Plans, trials and rejections: the rounds of templates, or the rewrites of direct mode, and the conversation with models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warpsmith.record.result import RunResult
from warpsmith.record.run import RoundRecord
from warpsmith.record.transcript import Kind
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import (
    NOTHING,
    Content,
    Html,
    Section,
    bullets,
    element,
    folded,
    joined,
    paragraphs,
    section,
    table,
)
from warpsmith.report.wording import OUTCOME_WORDS, cost_text, counted, short, speedup_text

_LONGEST = 1500  # characters of one message: the whole is in the transcript


def rounds(facts: RunFacts) -> Section | None:
    if facts.result.is_direct:
        return section("rounds", "The rewrites", _rewrites(facts), _said(facts))
    parts = [_round(facts, about) for about in facts.rounds]
    said = _said(facts)
    return section("rounds", "The rounds", *parts, said) if parts or said else None


def _round(facts: RunFacts, about: RoundRecord) -> Html:
    entry = next((e for e in facts.book["rounds"] if e["round"] == about.number), None)
    report, before = about.report, _applied_before(facts, about.number)
    new = [name for name in report["applied"] if name not in before]
    postponed = list(report.get("postponed", ()))
    lines: list[Content] = [joined([element("b", "Plan: "), about.plan["reason"]])]
    if new:
        lines.append(joined([element("b", "New passes: "), ", ".join(new)]))
    if postponed:
        lines.append(joined([element("b", "Skipped for lack of time: "), ", ".join(postponed)]))
    if entry is not None and entry["evaluations"]:
        came = f"{counted(entry['evaluations'])}; best so far {speedup_text(entry['speedup'])}, as searched"
        lines.append(joined([element("b", "Search: "), came]))
    findings = [finding["text"] for finding in about.plan["findings"]]
    forms = [f"Form {form['number']}: {form['hypothesis']}" for form in about.plan.get("proposals", ())]
    declined = [joined([element("code", name), f": {reason}"]) for name, reason in report["declined"].items()]
    return element(
        "article",
        element("h3", f"Round {about.number}"),
        paragraphs(lines),
        folded(f"Based on these findings ({len(findings)})", bullets(findings)) if findings else NOTHING,
        joined([element("p", element("b", "Forms that the agent wrote:")), bullets(forms)]) if forms else NOTHING,
        folded(f"Passes that did not apply ({len(declined)}), with the reason", bullets(declined)) if declined else NOTHING,
    )


def _applied_before(facts: RunFacts, number: int) -> frozenset[str]:
    return frozenset(name for about in facts.rounds if about.number < number for name in about.report["applied"])


def _rewrites(facts: RunFacts) -> Html:
    """Each a whole kernel. A finished run's result has what came of them; of others the record has what was tried."""
    tried = facts.result.rewrites if isinstance(facts.result, RunResult) else None
    if tried is None:
        return bullets(f"Rewrite {about.number}: {about.plan['hypothesis']}" for about in facts.rounds)
    rows: list[list[Content]] = [
        [
            str(entry.rewrite),
            entry.hypothesis,
            OUTCOME_WORDS[entry.outcome],
            speedup_text(entry.speedup) if entry.speedup is not None else "-",
            element("code", short(entry.source) if Path(entry.source).is_absolute() else entry.source),
        ]
        for entry in tried
    ]
    columns = ("rewrite", "idea", "outcome", "speedup as searched", "source")
    return table("Rewrites, in order", columns, rows, numbers=[3])


# ── what models said ──


def _said(facts: RunFacts) -> Html:
    """Decisions, and what went wrong; prompts and answers in full are in the transcript."""
    spoken = list(_spoken(facts.book["messages"]))
    if not facts.book["cost"]["answers"] and not any(m["kind"] != Kind.DECISION for m in facts.book["messages"]):
        return NOTHING  # without a model, the rounds above have said it all
    whole = joined(["All of it: ", element("code", f"warpsmith show {facts.result.run} --transcript"), "."])
    return joined(
        [
            element("h3", f"Conversation (agent {facts.book['agent']})"),
            paragraphs([f"{cost_text(facts.book['cost'])}.", whole]),
            folded(f"Decisions and rejected answers ({len(spoken)})", element("ol", *spoken)) if spoken else NOTHING,
        ]
    )


def _spoken(messages: list[Mapping[str, Any]]) -> Iterator[Html]:
    for message in messages:
        if message["kind"] in {Kind.DECISION, Kind.PROBLEM, Kind.FAULT}:
            text = message["text"].strip()
            cut = text[:_LONGEST] + (" …" if len(text) > _LONGEST else "")
            where = f"round {message['round']}" if message["round"] else "before the first round"
            head = element("b", f"{message['role']}, {where}: {message['kind']}")
            yield element("li", head, element("pre", cut))
