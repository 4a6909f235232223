"""The best configuration next to the original's values, with the meaning of each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpsmith.record.result import UnfinishedRun
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Content, Section, element, paragraphs, section, table


def configuration(facts: RunFacts) -> Section | None:
    best = facts.best
    if best is None or not best.config or facts.result.is_direct:
        return None  # a rewrite is no choice of values; `rounds` tells of them
    columns = _columns(facts)
    meanings = facts.template.meanings if facts.template is not None else {}
    values = {p.name: p.values for p in facts.template.parameters} if facts.template is not None else {}
    original = facts.original
    rows: list[list[Content]] = []
    for name in best.config:
        own = [_value(config.get(name, original.get(name)), original.get(name)) for config in columns.values()]
        choice = element("code", " ".join(map(str, values[name])), class_="words") if name in values else "-"
        meaning = element("span", meanings.get(name, "-"), class_="words")
        rows.append([element("code", name), _shown(original.get(name)), *own, choice, meaning])
    heads = ("parameter", "original", *columns, "values", "meaning")
    shown = table("Parameters", heads, rows, shown_caption=False, numbers=range(1, len(columns) + 2))
    return section("configuration", "The configuration", paragraphs(_notes(facts), class_="note"), shown)


def _columns(facts: RunFacts) -> dict[str, Mapping[str, Any]]:
    """Whose values are shown beside the original's, by what they are."""
    result = facts.result
    if isinstance(result, UnfinishedRun):
        return {"best so far": result.best_so_far.config} if result.best_so_far is not None else {}
    others = {f"for {workload}": entry.config for workload, entry in facts.own_claims.items()}
    if result.uncertain is not None:
        return {"best found, not significant": result.uncertain.config, **others}
    return {"best": result.general.config, **others}


def _notes(facts: RunFacts) -> list[str]:
    if facts.result.general is None:
        return ["The best so far in the search, as searched: not a claim."]
    notes = ["Changed values are marked; all others are those of the original."]
    if facts.own_claims:
        notes.append("A workload has its own column if a configuration other than the general one was fastest.")
    return notes


def _value(value: object, original: object) -> Content:
    return element("mark", _shown(value)) if value != original else _shown(value)


def _shown(value: object) -> Content:
    return "-" if value is None else element("code", str(value))
