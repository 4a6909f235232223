"""The run's result, in one figure and two sentences."""

from __future__ import annotations

import time

from warpsmith.record.result import RunResult
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import Content, Html, definitions, element, joined, paragraphs
from warpsmith.report.notes import gain_notes, unfinished_notes
from warpsmith.report.wording import counted, interval_text, speedup_text


def headline(facts: RunFacts) -> Html:
    result = facts.result
    title = element("h1", element("span", result.kernel, class_="kernel"), f" on {result.device}")
    figure, class_, words = _verdict(facts)
    said = element("div", element("p", figure, class_="figure"), element("div", paragraphs(words)), class_=f"verdict {class_}")
    return element("header", title, said, definitions(_about(facts), class_="about"))


def _verdict(facts: RunFacts) -> tuple[Content, str, list[str]]:
    result = facts.result
    if not isinstance(result, RunResult):
        figure = {"searched": "Searched", "failed": "Failed", "interrupted": "Interrupted", "killed": "Killed"}.get(
            result.status, "Unfinished"
        )
        return figure, "open", ["There is no result yet.", *map(_sentence, unfinished_notes(result))]
    general = result.general
    if facts.claimed is None:
        return "Nothing verified", "open", ["The run ended without a verified configuration, so there is no result."]
    if not facts.has_gain:
        figure = "No significant gain" if result.uncertain is not None else "No gain"
        return figure, "none", [*gain_notes(result), *_own_gains(facts)]
    low, high = general.ci95
    processes = result.evidence.processes
    what = "rewrite" if result.is_direct else "configuration"
    weighted = "over the tuning workloads (weighted geometric mean)" if len(general.workloads) > 1 else "on its workload"
    verified = "" if result.evidence.passed_by_zeros else " Every output was verified."
    meaning = [
        f"The best {what} takes {1 / general.speedup:.0%} of the original's time {weighted}.",
        f"Measured again in {processes} fresh processes, the speedup lies between {low:.2f} and {high:.2f} with 95 % confidence.",
        f"The whole interval is above 1: a gain, not noise.{verified}",
    ]
    figure = joined([speedup_text(general.speedup), element("small", f" {interval_text(general.ci95)}")])
    return figure, "gain", [*meaning, *gain_notes(result)]


def _own_gains(facts: RunFacts) -> list[str]:
    """What no single configuration has over all workloads, one may have on some."""
    faster = [f"{w} ({speedup_text(entry.speedup)})" for w, entry in facts.own_claims.items() if entry.ci95[0] > 1]
    return [f"Significantly faster with their own configuration: {', '.join(faster)}."] if faster else []


def _about(facts: RunFacts) -> list[tuple[Content, Content]]:
    result, header = facts.result, facts.record.header
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.record.created_at))
    return [
        ("Run", element("code", result.run)),
        ("Device", header.device_info.get("description", result.device)),
        ("Began", f"{began}; {result.seconds:.0f} s of work"),
        ("Evaluations", counted(result.evaluations) or "none"),
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
