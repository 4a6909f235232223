"""The template: its identity certificate, and its diff against the original."""

from __future__ import annotations

from warpsmith.record.result import RunResult
from warpsmith.report.html.facts import RunFacts
from warpsmith.report.html.markup import NOTHING, Html, Section, element, folded, joined, paragraphs, section
from warpsmith.report.wording import short

_CLASSES = {"+++": "file", "---": "file", "@@": "place", "+": "added", "-": "gone"}


def template(facts: RunFacts) -> Section | None:
    if facts.result.is_direct:
        return None
    about = facts.result.template if isinstance(facts.result, RunResult) else None
    texts = []
    if about is not None:
        if (certificate := about.certificate) is not None:
            proof = f"the template at its defaults is the original: {certificate.detail} (level: {certificate.level})."
            texts.append(joined([element("b", "Identity certificate: "), proof]))
        texts.append(joined(["The template is in ", element("code", short(about.path)), "."]))
    if facts.missing is not None:
        texts.append(element("span", f"Not shown: {facts.missing}"))
    diff = facts.template.diff if facts.template is not None else ""
    if not diff and not texts:
        return None
    if not diff and facts.missing is None:
        texts.append(element("span", "The source is its own template, so there is no diff."))
    return section("template", "The template", paragraphs(texts), shown_diff(diff) if diff else NOTHING)


def shown_diff(text: str) -> Html:
    lines = text.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    gone = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    shown = joined((element("span", line, class_=_class_of(line)) for line in lines), "\n")
    return folded(
        f"Diff against the original: {added} lines added, {gone} removed", element("pre", shown, class_="diff", tabindex=0)
    )


def _class_of(line: str) -> str | None:
    return next((class_ for start, class_ in _CLASSES.items() if line.startswith(start)), None)
